"""`python -m coven.daemon`: its verbs, its exit codes, and what a person reads when it refuses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coven.core import failpoints
from coven.daemon.__main__ import main
from tests.eventually import eventually_here

PROMPT = "Run `coven migrate` to migrate existing state"


def ask(project: Path, *arguments: str, **environment: str) -> int:
    return main([*arguments, "--dir", str(project)], environment)


@pytest.fixture
def running(project: Path) -> Iterator[subprocess.Popen[str]]:
    """A real daemon in the project directory."""
    with subprocess.Popen(
        [sys.executable, "-m", "coven.daemon", "up", "--port", "0"],
        cwd=project,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            eventually_here((project / ".coven" / "covend.json").exists, within=20)
            yield process
        finally:
            process.kill()


def test_where_every_value_came_from_is_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".coven").mkdir()
    (project / ".coven" / "config.json").write_text('{"store": {"taskRetentionDays": 3}}')
    assert ask(project, "config", "show", "--json", COVEN_PORT="1002") == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    told = {name: (setting["value"], setting["source"]) for name, setting in settings.items()}
    assert told["port"] == (1002, "environment")
    assert told["store.taskRetentionDays"] == (3, "file")
    assert told["store.eventRetentionHours"] == (24, "default")


def test_the_shown_configuration_has_no_password_and_names_bad_values(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = "postgresql://u:s3cret@h/d"
    assert ask(project, "config", "show", COVEN_STORE=store, COVEN_PORT="x") == 0
    shown = capsys.readouterr()
    assert "s3cret" not in shown.out + shown.err
    assert "postgresql://u:[redacted]@h/d" in shown.out
    assert "warning: COVEN_PORT" in shown.err
    assert list(project.iterdir()) == []


def test_the_nearest_project_above_is_meant_but_a_daemon_starts_where_one_stands(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".coven").mkdir()
    (project / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "down")
    assert main(["config", "show", "--json"], {}) == 0
    assert json.loads(capsys.readouterr().out)["directory"] == str(project)
    (project / "deep" / "down" / ".coven").write_text("a file")
    assert main(["up", "--port", "0"], {}) == 1
    assert str(project / "deep" / "down" / ".coven") in capsys.readouterr().err


def test_migrate_says_honestly_what_it_cannot_do_yet(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(project, "migrate") == 0
    assert "nothing to migrate" in capsys.readouterr().out
    (project / ".coven").mkdir()
    (project / ".coven" / "state.json").write_text("{}")
    assert ask(project, "migrate") == 1
    told = capsys.readouterr().err
    assert ".coven/state.json" in told
    assert "cannot move it into the store yet" in told
    assert "coven up --fresh" in told


def test_old_state_stops_the_first_start_with_the_prompt(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".coven").mkdir()
    (project / ".coven" / "state.json").write_text("{}")
    assert ask(project, "up", "--port", "0") == 11
    assert PROMPT in capsys.readouterr().err
    assert [path.name for path in (project / ".coven").iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["up", "--port", "70000"], 2, "--port cannot be 70000"),
        (["up", "--store", "mysql://u:s3cret@h/d"], 2, "--store does not name a store"),
        (["store", "check"], 10, "There is no store"),
        (["store", "what"], 2, "The command line cannot be read"),
    ],
)
def test_an_error_is_told_once_with_its_remedy(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    assert ask(project, *arguments) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Error: ")
    assert told in shown.err
    assert len(shown.err.splitlines()) == 2
    assert "s3cret" not in shown.err


def test_an_error_in_json_has_the_one_shape(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(project, "up", "--port", "70000", "--json") == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert set(error) == {"code", "message", "details", "remedy"}
    assert error["code"] == "BAD_FLAG"


def test_a_bad_value_is_told_also_when_the_start_fails(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".coven").mkdir()
    (project / ".coven" / "state.json").write_text("{}")
    assert ask(project, "up", COVEN_PORT="many") == 11
    assert capsys.readouterr().err.startswith('warning: COVEN_PORT is "many"')


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["up", "--port", "x"], ["config"]])
def test_usage_errors_end_with_two_in_the_one_shape(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"], {}) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "USAGE"


def test_an_argument_that_is_not_text_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(project, "store", "dump", "a\udcff", "--json") == 2
    assert "argument 3 is not UTF-8" in json.loads(capsys.readouterr().err)["error"]["message"]


def test_a_home_of_nobody_is_an_ordinary_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--json"], {"COVEN_DIR": "~nobody-here/p"}) == 0
    assert json.loads(capsys.readouterr().out)["directory"].endswith("/~nobody-here/p")


def test_a_directory_that_is_gone_is_told_as_such(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["config", "show", "--json"], {}) == 10
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "DIRECTORY_GONE"
    assert "cd" in error["remedy"]


@pytest.mark.parametrize(
    ("armed", "code"),
    [("store.commit.before=explode", "MALFORMED_FAILPOINT"), ("no.such=kill", "UNKNOWN_FAILPOINT")],
)
def test_a_failpoint_that_cannot_be_armed_starts_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], armed: str, code: str
) -> None:
    try:
        assert ask(project, "up", "--port", "0", "--json", COVEN_FAILPOINTS=armed) == 2
    finally:
        failpoints.arm("")
    assert json.loads(capsys.readouterr().err)["error"]["code"] == code
    assert list(project.iterdir()) == []


def test_output_that_nobody_reads_is_no_error(project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "coven.daemon", "config", "show", "--dir", str(project)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.fault
def test_a_second_daemon_ends_with_the_pid_of_the_first(
    project: Path, running: subprocess.Popen[str]
) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "coven.daemon", "up", "--port", "0"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=5,
        check=False,
    )
    assert second.returncode == 12
    assert "Database locked by another process" in second.stderr
    assert f"Process {running.pid}" in second.stderr
    assert json.loads((project / ".coven" / "covend.json").read_text())["pid"] == running.pid


@pytest.mark.fault
def test_a_start_completes_the_configuration(project: Path, running: subprocess.Popen[str]) -> None:
    file = project / ".coven" / "config.json"
    eventually_here(file.exists)
    assert json.loads(file.read_text())["store"]["eventRetentionHours"] == 24
    assert oct((project / ".coven").stat().st_mode & 0o777) == "0o700"
