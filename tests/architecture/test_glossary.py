"""The glossary is law: room, table, route, command group and event use one word for one thing."""

import re

import pytest

from scripts import catalogue
from tests.architecture.tree import PACKAGE, ROOT, rooms

GLOSSARY = ROOT / "docs" / "glossary.md"
# Floors that carry rooms, or stand outside: they keep no noun of their own.
CARRIERS = {"cli", "client", "console", "core", "daemon", "doors", "store", "testing"}
# What no single room can answer is asked of the daemon itself, in words that are not nouns.
DAEMON_SEGMENTS = {"loops", "retention", "store"}
DAEMON_GROUPS = {"completion", "config", "loop", "retention", "store"}


@pytest.mark.parametrize("room", sorted(set(rooms()) - CARRIERS))
def test_every_room_is_a_word_of_the_glossary(room):
    assert _singular(room) in _words()


def test_every_thing_that_events_tell_of_is_a_word_of_the_glossary():
    entities = {event.entity for event in catalogue.every_event()}
    assert {entity for entity in entities if _singular(entity) not in _words()} == set()


def test_every_collection_of_the_api_is_a_word_of_the_glossary():
    segments = {
        match[1]
        for route in catalogue.every_route()
        if (match := re.match(r"/api/v1/([a-z-]+)", route.path))
    }
    assert {name for name in segments - DAEMON_SEGMENTS if _singular(name) not in _words()} == set()


def test_every_group_of_commands_is_a_word_of_the_glossary():
    groups = {name.split()[1] for name in catalogue.SUBJECTS["commands"]() if len(name.split()) > 2}
    assert {name for name in groups - DAEMON_GROUPS if _singular(name) not in _words()} == set()


def test_every_collection_of_the_api_is_served_by_the_room_of_its_name():
    strangers = {
        route.path: route.module
        for route in catalogue.every_route()
        if (match := re.match(r"/api/v1/([a-z-]+)", route.path))
        and (PACKAGE / match[1]).is_dir()
        and match[1] not in CARRIERS
        and not route.module.startswith(f"coven.{match[1]}.")
    }
    assert strangers == {}


def test_every_table_is_made_by_the_room_that_owns_its_word():
    """A table that names a room belongs to that room: `agent_runs` to `runs`, not to `agents`."""
    strangers = {
        table.name: table.room
        for table in catalogue.every_table()
        if (owner := table.name.rpartition("_")[2]) in rooms() and owner != table.room
        if not (table.name.startswith(f"{_singular(table.room)}_"))
    }
    assert strangers == {}


def test_every_word_of_the_glossary_has_a_definition_of_three_lines_at_most():
    long = {
        heading: len(definition.strip().splitlines())
        for heading, definition in _sections()
        if not 1 <= len(definition.strip().split("\n\n")[0].splitlines()) <= 3
    }
    assert long == {}


def _sections() -> list[tuple[str, str]]:
    text = GLOSSARY.read_text(encoding="utf-8")
    return re.findall(r"^#{2,} (.*?)\n(.*?)(?=^#|\Z)", text, re.M | re.S)


def _words() -> set[str]:
    """The headings; one heading may define several words: `task, claim, workflow`."""
    return {
        _singular(word.strip(" `*").lower())
        for heading, _ in _sections()
        for word in re.split(r",| and | / ", heading)
    }


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
