"""A dump: everything on either engine, in little memory, and around what is damaged."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from coven.core.clock import SystemClock
from coven.store import Transaction, open_store
from coven.store.dump import Dump
from tests.store import ledger

pytestmark = pytest.mark.slow

PAGE_BYTES = 4096

# Two tables, one of each kind in which the embedded engine keeps rows, and how a row is known.
KEYS = {"numbered": "name", "events": "entity_id"}


def read(url: str) -> tuple[list[dict[str, Any]], Dump]:
    """The lines of a dump, and the dump that has been read."""
    dump = Dump(url, clock=SystemClock())
    return [json.loads(line) for line in dump.lines()], dump


def rows(lines: Iterable[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [line["row"] for line in lines if line["table"] == table and "row" in line]


def made(url: str, count: int, **more: Any) -> list[str]:
    """A store with so many entries, and as many events; their names."""
    names = [f"e{number:05}" for number in range(count)]

    def add(tx: Transaction, part: list[str]) -> None:
        for name in part:
            ledger.add(tx, name, note="n" * 100, **more)

    async def fill() -> None:
        store = await open_store(url, clock=SystemClock(), rooms=ledger.ROOMS)
        for start in range(0, count, 100):
            await store.write(add, names[start : start + 100])
        await store.close()

    asyncio.run(fill())
    return names


def made_of_both_kinds(path: Path, count: int) -> list[str]:
    """The same on the embedded engine, with a table of the other kind and as many rows in it."""
    names = made(f"sqlite:{path}", count)
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE numbered (name TEXT PRIMARY KEY, note TEXT) STRICT")
    connection.executemany("INSERT INTO numbered VALUES (?, ?)", [(n, "n" * 100) for n in names])
    connection.close()
    return names


def leaves(path: Path, table: str) -> list[int]:
    """The pages of a table that hold its rows, in the order of its rows."""
    connection = apsw.Connection(str(path))
    wanted = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
    found = [page for (page,) in connection.execute(wanted, (table,))]
    connection.close()
    return found


def damage(path: Path, *pages: int) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE_BYTES)
            file.write(b"\xa5" * PAGE_BYTES)


def test_a_dump_has_every_row_once_as_it_was_stored(store_url):
    names = made(store_url, 250, content=b"\0\xff", facts='{"a": 1}')
    lines, dump = read(store_url)
    found = rows(lines, "entries")
    assert [row["name"] for row in found] == names
    assert {(row["content"], row["weight"], row["amount"]) for row in found} == {("AP8=", None, 1)}
    assert json.loads(found[0]["facts"]) == {"a": 1}
    assert [row["seq"] for row in rows(lines, "events")] == list(range(1, 251))
    assert rows(lines, "event_head")[0]["seq"] == 250
    assert dump.unreadable == []


@pytest.mark.parametrize("table", KEYS)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_damaged_page_costs_its_own_rows_and_no_others(table, place, tmp_path):
    path = tmp_path / "coven.db"
    names = made_of_both_kinds(path, 400)
    pages = leaves(path, table)
    assert len(pages) > 5
    damage(path, pages[{"first": 0, "middle": len(pages) // 2, "last": -1}[place]])
    lines, dump = read(f"sqlite:{path}")
    (told,) = dump.unreadable
    assert told.startswith(f"{table}: The database file is damaged")
    times = Counter(row[KEYS[table]] for row in rows(lines, table))
    lost = sorted(set(names) - set(times))
    assert set(times.values()) == {1}
    assert 0 < len(lost) <= 400 // (len(pages) - 2)
    first = names.index(lost[0])
    assert lost == names[first : first + len(lost)], "one piece is missing"
    about = [line for line in lines if line["table"] == table]
    assert [number for number, line in enumerate(about) if "unreadable" in line] == [first]
    others = {each["table"] for each in lines if "unreadable" in each}
    assert others == {table}
    assert all(len(rows(lines, other)) == 400 for other in {"entries", *KEYS} - {table})


def test_a_table_that_is_ordered_by_a_number_is_read_on_behind_every_damaged_page(tmp_path):
    path = tmp_path / "coven.db"
    names = made_of_both_kinds(path, 600)
    pages = leaves(path, "numbered")
    damage(path, pages[0], pages[4], pages[5], pages[9])
    lines, dump = read(f"sqlite:{path}")
    found = [row["name"] for row in rows(lines, "numbered")]
    assert found == sorted(set(found))
    assert set(found) < set(names)
    assert len(dump.unreadable) == 3
    assert len(names) - len(found) <= 4 * 600 // (len(pages) - 2)


def test_between_two_damaged_pages_of_a_keyed_table_nothing_is_made_up(tmp_path):
    path = tmp_path / "coven.db"
    made_of_both_kinds(path, 600)
    pages = leaves(path, "events")
    damage(path, pages[2], pages[-3])
    lines, dump = read(f"sqlite:{path}")
    found = [row["seq"] for row in rows(lines, "events")]
    assert len(found) == len(set(found))
    assert {1, 600} <= set(found) <= set(range(1, 601))
    assert len(dump.unreadable) == 1


@pytest.mark.parametrize("table", ["numbered", "entries"])
def test_a_row_with_a_text_that_is_none_costs_itself(table, tmp_path):
    """Content can be wrong where every page is right."""
    path = tmp_path / "coven.db"
    names = made_of_both_kinds(path, 300)
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE {table} SET note = CAST(x'ff41' AS TEXT) WHERE name = 'e00100'")
    connection.close()
    lines, dump = read(f"sqlite:{path}")
    found = [row["name"] for row in rows(lines, table)]
    assert sorted(found) == [name for name in names if name != "e00100"]
    assert dump.unreadable == [f"{table}: The database file is damaged: a text is not UTF-8."]


@pytest.mark.parametrize("engine_name", ["postgres"])
def test_a_table_that_the_server_cannot_read_does_not_end_the_dump(engine_name, store_url):
    """A policy that fails at one row stands for a damaged page."""
    made(store_url, 300)
    with psycopg.connect(store_url, autocommit=True) as outside:
        outside.execute(UNREADABLE)
        try:
            lines, dump = read(store_url.replace("postgres:@", "coven_dumper:@"))
        finally:
            outside.execute("DROP OWNED BY coven_dumper; DROP ROLE coven_dumper")
    found = [row["name"] for row in rows(lines, "entries")]
    assert found == [f"e{number:05}" for number in range(len(found))]
    assert 180 <= len(found) <= 200, "what the server sent before it met the damage"
    assert len(rows(lines, "events")) == 300
    assert dump.unreadable == ["entries: The database file is damaged: invalid page."]


UNREADABLE = """
CREATE FUNCTION kb.fail() RETURNS int LANGUAGE plpgsql AS $$
BEGIN RAISE 'invalid page' USING ERRCODE = 'data_corrupted'; END $$;
ALTER TABLE kb.entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY damage ON kb.entries USING (name <> 'e00200' OR kb.fail() = 1);
DROP ROLE IF EXISTS coven_dumper;
CREATE ROLE coven_dumper LOGIN;
GRANT USAGE ON SCHEMA kb TO coven_dumper;
GRANT SELECT ON ALL TABLES IN SCHEMA kb TO coven_dumper;
"""


MEASURE = """
import re, sys
from pathlib import Path
from coven.core.clock import SystemClock
from coven.store.dump import Dump

def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

before = most()
print(sum(len(line) for line in Dump(sys.argv[1], clock=SystemClock()).lines()))
print(most() - before)
"""


def test_a_table_may_be_larger_than_the_memory_for_its_dump(store_url):
    made(store_url, 250, content=bytes(500_000))
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, store_url], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    length, kibibytes = map(int, ran.stdout.split())
    assert length > 150_000_000
    assert kibibytes * 1024 < 80_000_000, "the table alone has 125 MB"
