"""What the daemon is told: where values come from, and what becomes of bad ones."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven import config
from coven.config import SETTINGS, BadDirectory, BadFlag, StoreNotUnderstood
from tests.daemon_edge.unprivileged import unprivileged

DIGITS = pytest.param(10**400, id="401 digits")


@pytest.fixture
def file(project: Path) -> Path:
    (project / ".coven").mkdir()
    return project / ".coven" / "config.json"


def test_without_anything_every_setting_has_its_default(project: Path) -> None:
    settings = config.load(project, environment={})
    assert settings.event_retention == timedelta(hours=24)
    assert settings.task_retention == timedelta(days=30)
    assert settings.task_soft_delete == timedelta(days=7)
    assert settings.workflow_retention == timedelta(days=7)
    assert settings.claim_timeout == timedelta(minutes=30)
    assert settings.port == 8765
    assert settings.store_url == f"sqlite:{project}/.coven/coven.db"
    assert settings.log_file_bytes == 10 * 1024 * 1024
    assert settings.log_files_kept == 5
    assert set(settings.sources.values()) == {"default"}
    assert settings.problems == []


def test_reading_the_settings_makes_no_file_and_no_directory(project: Path) -> None:
    config.load(project / "not" / "there", environment={})
    assert list(project.iterdir()) == []


def test_a_flag_wins_over_the_environment_and_that_over_the_file(file: Path) -> None:
    file.write_text('{"port": 1001}')
    ports = {
        "file": config.load(file.parent.parent, environment={}),
        "environment": config.load(file.parent.parent, environment={"COVEN_PORT": "1002"}),
        "flag": config.load(file.parent.parent, environment={"COVEN_PORT": "1002"}, port=1003),
    }
    assert {source: told.port for source, told in ports.items()} == {
        "file": 1001,
        "environment": 1002,
        "flag": 1003,
    }
    assert all(told.sources["port"] == source for source, told in ports.items())


def test_an_empty_environment_variable_says_nothing(project: Path) -> None:
    settings = config.load(project, environment={"COVEN_PORT": "", "COVEN_STORE": ""})
    assert (settings.port, settings.sources["port"], settings.problems) == (8765, "default", [])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_can_be_given_in_the_environment(
    project: Path, setting: config.Setting
) -> None:
    values = {"choice": "error", "store": "postgresql://u@h/d", "whole": "3", "amount": "1.5"}
    settings = config.load(project, environment={setting.environment: values[setting.kind]})
    assert settings.sources[setting.name] == "environment"
    assert str(settings.values[setting.name]) == values[setting.kind]


@pytest.mark.parametrize(
    "bad",
    ["banana", -1, 0, True, None, [], {}, "24", 1e400, 10**30, 1e-9, DIGITS, "\ud800"],
    ids=ascii,
)
def test_a_bad_value_is_told_by_name_and_its_default_is_used(file: Path, bad: object) -> None:
    text = json.dumps({"store": {"eventRetentionHours": bad, "taskRetentionDays": 3}})
    file.write_text(text.replace("Infinity", "1e400"))
    before = file.read_bytes()
    settings = config.load(file.parent.parent, environment={})
    assert settings.event_retention == timedelta(hours=24)
    assert settings.task_retention == timedelta(days=3)
    (problem,) = settings.problems
    assert "store.eventRetentionHours" in problem
    assert "24 (default) is used" in problem
    assert file.read_bytes() == before


@pytest.mark.parametrize("bad", ["", "x", 1.5, -1, 65536, "8765", None, DIGITS], ids=repr)
def test_a_port_must_be_a_whole_number_that_ports_have(file: Path, bad: object) -> None:
    file.write_text(json.dumps({"port": bad}))
    settings = config.load(file.parent.parent, environment={})
    assert settings.port == 8765
    assert "port" in settings.problems[0]


def test_a_bad_variable_leaves_the_word_to_the_file(file: Path) -> None:
    file.write_text('{"port": 1001}')
    settings = config.load(file.parent.parent, environment={"COVEN_PORT": "many"})
    assert (settings.port, settings.sources["port"]) == (1001, "file")
    assert settings.problems == [
        'COVEN_PORT is "many", which is not a whole number from 0 to 65535; '
        "1001 (file) is used instead."
    ]


def test_a_section_that_is_not_an_object_is_told_once(file: Path) -> None:
    file.write_text('{"store": 5}')
    settings = config.load(file.parent.parent, environment={})
    assert settings.event_retention == timedelta(hours=24)
    assert len(settings.problems) == 1
    assert "store is 5, which is not an object" in settings.problems[0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is not JSON (line 1, column 1"),
        (b"{", "is not JSON (line 1"),
        (b'{"port": 1} // mine', "is not JSON (line 1, column 13"),
        (b"[1]", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'\xef\xbb\xbf{"port": 1}', "byte order mark"),
        ('{"port": 1}'.encode("utf-16"), "byte order mark"),
        (b'{"port": "\xff"}', "is not UTF-8 text (byte 10)"),
        (b'{"port": NaN}', "is not JSON"),
        (b"[" * 200_000, "is not JSON"),
        (b'{"port": ' + b"9" * 5000 + b"}", "is not JSON that can be read"),
        (b" " * (config.FILE_BYTES_MAX + 1), "larger than 1 MB"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_file_that_cannot_be_understood_is_told_and_left_alone(
    file: Path, content: bytes, told: str
) -> None:
    file.write_bytes(content)
    settings = config.load(file.parent.parent, environment={})
    (problem,) = settings.problems
    assert str(file) in problem
    assert told in problem
    assert "the defaults are used" in problem
    assert set(settings.sources.values()) == {"default"}
    assert file.read_bytes() == content


def test_what_is_not_a_file_is_told_and_never_waited_for(file: Path) -> None:
    file.mkdir()
    assert "is not a file" in config.load(file.parent.parent, environment={}).problems[0]
    file.rmdir()
    os.mkfifo(file)
    assert "is not a file" in config.load(file.parent.parent, environment={}).problems[0]


def test_a_symbolic_link_is_read_and_one_to_nothing_is_told(file: Path) -> None:
    file.symlink_to(file.with_name("elsewhere.json"))
    assert "link to nothing" in config.load(file.parent.parent, environment={}).problems[0]
    file.with_name("elsewhere.json").write_text('{"port": 1001}')
    assert config.load(file.parent.parent, environment={}).port == 1001


def test_a_link_in_a_circle_is_told(file: Path) -> None:
    file.symlink_to(file)
    assert "cannot be read" in config.load(file.parent.parent, environment={}).problems[0]


def test_a_file_that_may_not_be_read_is_told(file: Path) -> None:
    file.write_text('{"port": 1001}')
    file.chmod(0)
    with unprivileged():
        settings = config.load(file.parent.parent, environment={})
    assert settings.port == 8765
    assert "cannot be read (Permission denied)" in settings.problems[0]


def test_a_state_directory_that_is_a_file_is_no_problem_of_the_configuration(
    project: Path,
) -> None:
    (project / ".coven").write_text("not a directory")
    assert config.load(project, environment={}).problems == []


@pytest.mark.parametrize(
    ("given_text", "meant"),
    [
        ("sqlite", "sqlite:{root}/.coven/coven.db"),
        ("sqlite:/abs/x.db", "sqlite:/abs/x.db"),
        ("sqlite:///abs/x.db", "sqlite:/abs/x.db"),
        ("sqlite:////abs/x.db", "sqlite:/abs/x.db"),
        ("sqlite:sub/../x.db", "sqlite:{root}/x.db"),
        ("postgres://u@h/d", "postgresql://u@h/d"),
        ("postgresql:///d?host=/run/pg", "postgresql:///d?host=/run/pg"),
    ],
)
def test_the_store_is_named_whole(project: Path, given_text: str, meant: str) -> None:
    settings = config.load(project, environment={}, store=given_text)
    assert settings.store_url == meant.format(root=project)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "mysql://h/d",
        "postgre://h/d",
        "sqlite:",
        "postgresql://h:x/d",
        "/a/path",
        "sqlite:\ud800x",
        "postgresql://h/\udcff",
    ],
    ids=ascii,
)
def test_a_store_that_is_not_understood_starts_nothing(file: Path, bad: str) -> None:
    with pytest.raises(StoreNotUnderstood, match="--store does not name a store"):
        config.load(file.parent.parent, environment={}, store=bad)
    file.write_text(json.dumps({"store": {"url": bad}}))
    with pytest.raises(StoreNotUnderstood, match=r"store\.url does not name a store"):
        config.load(file.parent.parent, environment={})


@pytest.mark.parametrize(
    ("name", "told"), [("n\udcff", "is not UTF-8 text"), ("deep/" * 760, "longer than 400 bytes")]
)
def test_a_directory_on_which_the_store_cannot_stand_is_refused(
    project: Path, name: str, told: str
) -> None:
    with pytest.raises(BadDirectory, match=told) as refused:
        config.load(project / name, environment={})
    assert len(refused.value.message) < 150
    assert refused.value.message.isascii() or "…" in refused.value.message


def test_a_bad_flag_is_refused(project: Path) -> None:
    with pytest.raises(BadFlag, match="--port cannot be 70000"):
        config.load(project, environment={}, port=70000)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2@h/d",
        "postgresql://u:hunter2@x@h/d",
        "postgresql://u:hunter2/x@h/d",
        'postgresql://u:"hunter2"@h/d',
        "postgresql://u@h/d?password=hunter2&x=1",
        "postgres://:hunter2@h/d",
    ],
)
def test_a_password_is_never_shown(project: Path, url: str) -> None:
    try:
        settings = config.load(project, environment={"COVEN_STORE": url})
        shown = repr(settings) + json.dumps(settings.values)
        assert settings.values["store.url"] != url
    except StoreNotUnderstood as error:
        shown = error.message + repr(error.details)
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8765/x?y=a@b", "postgresql://user@host/database", "http://h/a:b@c"],
)
def test_an_address_without_a_password_stays_as_it_is(url: str) -> None:
    assert config.redacted(url) == url


@given(password=st.text(min_size=6).map(lambda text: "s3cret" + "".join(text.split())))
def test_no_password_survives_redaction(password: str) -> None:
    assert "s3cret" not in config.redacted(f"see postgresql://user:{password}@host/db now")


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("2h", timedelta(hours=2)),
        ("-1h30m", timedelta(minutes=-90)),
        ("+5s", timedelta(seconds=5)),
        ("", timedelta(0)),
        ("soon", timedelta(0)),
    ],
)
def test_the_clock_of_a_test_daemon_can_be_moved(
    project: Path, text: str, moved: timedelta
) -> None:
    settings = config.load(project, environment={"COVEN_CLOCK_OFFSET": text})
    assert settings.clock_offset == moved
    assert len(settings.problems) == (1 if text == "soon" else 0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inside: (
            st.lists(inside, max_size=3)
            | st.dictionaries(
                st.sampled_from(["store", "port", "logging", "eventRetentionHours", "level", "x"]),
                inside,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_stands_in_the_file_the_settings_are_within_their_limits(
    tmp_path_factory: pytest.TempPathFactory, body: object
) -> None:
    project = tmp_path_factory.mktemp("any")
    (project / ".coven").mkdir()
    (project / ".coven" / "config.json").write_text(json.dumps(body))
    settings = config.load(project, environment={})
    assert 0 <= settings.port <= 65535
    assert settings.event_retention > timedelta(0)
    assert settings.log_level in ("debug", "info", "warning", "error")
    assert all("\n" not in problem for problem in settings.problems)


def test_names_and_variables_of_settings_are_unique() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert len({setting.environment for setting in SETTINGS}) == len(SETTINGS)
