"""Named SQL: what is read out of a file, and what is refused as a defect of it."""

import pytest

from coven.store.statements import load, parse

TEXT = """
-- Prose before the first name is nobody's.

-- name: find
-- One thing,
-- by its name.
SELECT a::text, ':no', "b:no" FROM kb.x -- :no, 100%
WHERE y = :y AND z LIKE '50%' AND w % 2 = :w_2;

-- name: lock (sqlite)
-- Differs.
SELECT 1;

-- name: lock (postgres)
-- Differs.
SELECT 1 FOR UPDATE;
"""


def test_placeholders_are_rewritten_for_postgresql_and_nothing_else_is():
    found = parse(TEXT, source="test")["find"]
    assert found.prose == "One thing, by its name."
    assert found.sqlite.splitlines()[1] == "WHERE y = :y AND z LIKE '50%' AND w % 2 = :w_2"
    assert found.postgres.splitlines() == [
        "SELECT a::text, ':no', \"b:no\" FROM kb.x -- :no, 100%%",
        "WHERE y = %(y)s AND z LIKE '50%%' AND w %% 2 = %(w_2)s",
    ]


def test_each_engine_gets_its_own_text_where_there_are_two():
    found = parse(TEXT, source="test")["lock"]
    assert (found.sqlite, found.postgres) == ("SELECT 1", "SELECT 1 FOR UPDATE")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-- name: a\n-- x\nSELECT 1;\n-- name: a\n-- x\nSELECT 2;", "twice"),
        ("-- name: a\n-- x\n", "empty"),
        ("-- name: a\nSELECT 1;", "prose"),
        ("-- name: a (sqlite)\n-- x\nSELECT 1;", "missing for one engine"),
    ],
)
def test_a_file_that_cannot_be_meant_is_a_defect(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse(text, source="test")


def test_a_room_finds_its_statements_by_name():
    queries = load("tests.store.ledger")
    assert [each.name for each in queries.all()][:2] == ["add", "add_once"]
    assert queries["find"] is queries["find"]
    with pytest.raises(KeyError):
        queries["no such"]
