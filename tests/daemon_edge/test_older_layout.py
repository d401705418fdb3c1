"""State of the older layout: found by name, told about, never touched."""

import os
from pathlib import Path

import pytest

from coven import config
from coven.config import Settings
from coven.daemon import older_layout
from coven.daemon.older_layout import OlderStateFound
from tests.daemon_edge.unprivileged import unprivileged

PROMPT = "Run `coven migrate` to migrate existing state"


@pytest.fixture
def state(project: Path) -> Path:
    (project / ".coven").mkdir()
    return project / ".coven"


def settings_of(state: Path, *, fresh: bool = False) -> Settings:
    return config.load(state.parent, environment={}, fresh=fresh)


def test_nothing_is_found_where_there_is_nothing(state: Path) -> None:
    assert older_layout.find(state) == []
    assert older_layout.find(state / "none") == []
    assert older_layout.check(settings_of(state)) is None


@pytest.mark.parametrize("name", ["state.json", "workflows/w1.json", "familiars/f1.json"])
def test_each_kind_of_old_file_is_found_and_prompted_for(state: Path, name: str) -> None:
    old = state / name
    old.parent.mkdir(exist_ok=True)
    old.write_text("{}")
    with pytest.raises(OlderStateFound) as found:
        older_layout.check(settings_of(state))
    assert found.value.message.startswith(PROMPT)
    assert f".coven/{name}" in found.value.message
    assert "--fresh" in found.value.remedy


def test_a_fresh_start_says_nothing_and_leaves_the_files(state: Path) -> None:
    (state / "state.json").write_text("{}")
    before = (state / "state.json").stat()
    assert older_layout.check(settings_of(state, fresh=True)) is None
    assert (state / "state.json").stat() == before


@pytest.mark.parametrize("made", ["node", "coven.db"])
def test_a_directory_that_ran_before_is_only_reminded(state: Path, made: str) -> None:
    (state / "state.json").write_text("{}")
    (state / made).write_text("")
    reminder = older_layout.check(settings_of(state))
    assert reminder is not None
    assert reminder.startswith(PROMPT)


def test_what_only_looks_alike_is_not_old_state(state: Path) -> None:
    (state / "state.json").mkdir()
    (state / "workflows").write_text("a file")
    (state / "familiars" / "sub.json").mkdir(parents=True)
    (state / "familiars" / "notes.txt").write_text("")
    assert older_layout.find(state) == []


def test_a_link_counts_and_is_not_followed(state: Path) -> None:
    (state / "state.json").symlink_to("/nowhere/at/all")
    (state / "workflows").symlink_to(state / "workflows")
    assert older_layout.find(state) == [
        ".coven/state.json",
        ".coven/workflows/*.json (not readable)",
    ]


def test_what_may_not_be_looked_at_counts(state: Path) -> None:
    (state / "familiars").mkdir(mode=0)
    with unprivileged():
        assert older_layout.find(state) == [".coven/familiars/*.json (not readable)"]


def test_an_old_file_is_never_opened(state: Path) -> None:
    """A pipe would hold up whoever opens it."""
    os.mkfifo(state / "state.json")
    assert older_layout.find(state) == [".coven/state.json"]


def test_many_files_are_told_in_few_words(state: Path) -> None:
    (state / "workflows").mkdir()
    for number in range(500):
        (state / "workflows" / f"{number:03}.json").write_text("{}")
    with pytest.raises(OlderStateFound, match=r"004\.json and 495 more\.") as found:
        older_layout.check(settings_of(state))
    assert len(found.value.message) < 300
