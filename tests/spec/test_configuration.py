"""The configuration of a session: its file is completed, and the daemon does what it says."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from coven.daemon.__main__ import main
from tests.daemon.lives import live
from tests.spec.manifest import requirement

DEFAULTS = {
    "eventRetentionHours": 24,
    "taskRetentionDays": 30,
    "taskSoftDeleteDays": 7,
    "workflowRetentionDays": 7,
    "claimTimeoutMinutes": 30,
}
THEIRS = """{
  "theme":   "dark",   "nested": {"a": [1, 2.50, null]},
  "store": {"taskRetentionDays": 3, "theirs": "kept"}
}
"""


@pytest.fixture
def arguments(engine_name: str, store_url: str) -> list[str]:
    """How `coven up` is told which engine it runs on."""
    return ["--store", "sqlite" if engine_name == "sqlite" else store_url]


@pytest.fixture
def file(project: Path) -> Path:
    """Where the configuration is."""
    (project / ".coven").mkdir()
    return project / ".coven" / "config.json"


def shown(project: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What `coven config show --json` says: the value of each setting and where it came from."""
    capsys.readouterr()
    assert main(["config", "show", "--json", "--dir", str(project)], {}) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    return {name: (told["value"], told["source"]) for name, told in settings.items()}


def event_retention(http: httpx.Client) -> str:
    """How long the running daemon keeps events."""
    rules = http.post("/api/v1/retention/plan").json()["rules"]
    return next(rule["older_than"] for rule in rules if rule["name"] == "events")


@requirement("U-05")
def test_a_start_writes_the_five_settings_of_the_store_with_their_defaults(
    project: Path, arguments: list[str]
):
    """Promise: when a session has started, its file shows what can be set and to what."""
    seen: list[Any] = []
    file = project / ".coven" / "config.json"
    assert live(project, *arguments, visit=lambda _: seen.append(file.read_text())) == 0
    assert [json.loads(text) for text in seen] == [{"store": DEFAULTS}]


@requirement("U-05", "U-06")
def test_what_a_file_does_not_say_is_the_default_and_is_added_to_it(
    project: Path, file: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    """Promise: a missing key means its default, before it is written and afterwards."""
    file.write_text('{"store": {"taskRetentionDays": 3}}')
    before = shown(project, capsys)
    assert before["store.taskRetentionDays"] == (3, "file")
    others = DEFAULTS.keys() - {"taskRetentionDays"}
    assert {key: before[f"store.{key}"] for key in others} == {
        key: (DEFAULTS[key], "default") for key in others
    }
    kept: list[str] = []
    assert live(project, *arguments, visit=lambda http: kept.append(event_retention(http))) == 0
    assert kept == ["1d"]
    assert json.loads(file.read_text()) == {"store": DEFAULTS | {"taskRetentionDays": 3}}


@requirement("U-07")
def test_every_other_key_of_the_file_survives_a_start(
    project: Path, file: Path, arguments: list[str]
):
    """Promise: the file belongs to its user; only what is missing in `store` is added."""
    file.write_text(THEIRS)
    assert live(project, *arguments) == 0
    text = file.read_text()
    assert json.loads(text) == json.loads(THEIRS) | {
        "store": {"theirs": "kept"} | DEFAULTS | {"taskRetentionDays": 3}
    }
    assert '  "theme":   "dark",   "nested": {"a": [1, 2.50, null]},\n' in text
    assert live(project, *arguments) == 0
    assert file.read_text() == text, "a complete file is not written again"


@requirement("U-07")
@pytest.mark.parametrize("bad", ['"soon"', "-1", "0", "true", "null", "1e400", "[24]"])
def test_a_bad_value_is_named_in_a_warning_and_its_default_is_used(
    project: Path, file: Path, bad: str, capsys: pytest.CaptureFixture[str]
):
    """Promise: a mistake in the file neither stops the daemon nor goes unsaid."""
    file.write_text(f'{{"store": {{"eventRetentionHours": {bad}, "taskRetentionDays": 3}}}}')
    kept: list[str] = []
    assert live(project, visit=lambda http: kept.append(event_retention(http))) == 0
    warnings = [li for li in capsys.readouterr().out.splitlines() if li.startswith("warning: ")]
    assert kept == ["1d"]
    assert len(warnings) == 1
    assert "eventRetentionHours" in warnings[0] or "config.json is not JSON" in warnings[0]
    assert f'"eventRetentionHours": {bad}' in file.read_text(), "it is theirs to correct"


@requirement("U-07")
def test_a_file_that_is_not_json_is_told_and_left_as_it_is(
    project: Path, file: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    """Promise: the daemon runs on the defaults and says where the mistake is."""
    file.write_text('{"store": {"taskRetentionDays": 3,}}')
    kept: list[str] = []
    assert live(project, *arguments, visit=lambda http: kept.append(event_retention(http))) == 0
    told = capsys.readouterr().out
    assert kept == ["1d"]
    assert "config.json is not JSON (line 1, column " in told
    assert "Correct it" in told
    assert file.read_text() == '{"store": {"taskRetentionDays": 3,}}'


@requirement("U-06", "U-25")
def test_a_value_of_the_file_is_what_the_daemon_does(
    project: Path, file: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    """Promise: a configured value is used instead of the default, and it is said whose it is."""
    file.write_text('{"store": {"eventRetentionHours": 6}}')
    kept: list[str] = []
    assert live(project, *arguments, visit=lambda http: kept.append(event_retention(http))) == 0
    assert kept == ["6h"]
    assert shown(project, capsys)["store.eventRetentionHours"] == (6, "file")
