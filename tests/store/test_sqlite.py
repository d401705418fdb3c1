"""What is particular to the embedded engine: one file, its log, its copies, its authorizer."""

import asyncio
import stat
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import pytest

from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.store import Store, Transaction, View, events, open_store, sqlite
from coven.store.cursors import EventsGone
from coven.store.engine import StatementRefused
from coven.store.sqlite import SqliteLink
from coven.store.statements import parse
from tests.contracts.store_contract import gaplessly, log_of
from tests.store import ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a place with ?#% and ü" / "coven.db"


@pytest.fixture
async def store(path: Path, clock: SystemClock) -> AsyncIterator[Store]:
    path.parent.mkdir()
    opened = await open_store(f"sqlite:{path}", clock=clock, rooms=ledger.ROOMS)
    yield opened
    await opened.close()


def refused(text: str) -> str | None:
    return f"-- name: it\n-- A statement that a room must not run.\n{text};"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE main.lost (x)",
        "CREATE TEMP TABLE lost (x)",
        "CREATE TABLE lost (x)",
        "ATTACH ':memory:' AS more",
        "DETACH kb",
        "VACUUM",
    ],
)
async def test_nothing_can_be_kept_anywhere_but_in_the_file(store, text):
    statement = parse(refused(text), source="test")["it"]
    with pytest.raises(StatementRefused):
        await store.write(lambda tx: tx.run(statement))


async def test_a_migration_may_change_everything_that_is_in_the_file(path, store):
    def change() -> None:
        link = SqliteLink(path, clock=SystemClock(), writable=True)
        for text in (
            "ALTER TABLE kb.entries ADD COLUMN more TEXT",
            "ALTER TABLE kb.entries RENAME COLUMN more TO other",
            "ALTER TABLE kb.entries RENAME TO lines",
            "CREATE VIEW kb.few AS SELECT name FROM lines",
            "CREATE TRIGGER kb.told AFTER INSERT ON lines BEGIN DELETE FROM lines; END",
            "DROP TRIGGER kb.told",
            "DROP VIEW kb.few",
            "ALTER TABLE kb.lines DROP COLUMN other",
            "CREATE INDEX kb.lines_by_at ON lines (at)",
            "DROP INDEX kb.lines_by_at",
            "DROP TABLE kb.lines",
        ):
            link.connection.execute(text)
        link.close()

    await asyncio.to_thread(change)


async def test_every_commit_is_synced_and_every_connection_is_set_as_decided(path, store):
    def settings() -> list[dict[str, object]]:
        links = [SqliteLink(path, clock=SystemClock(), writable=flag) for flag in (True, False)]
        found = [
            {
                name: next(iter(link.connection.execute(f"PRAGMA {name}")))[0]
                for name in ("kb.journal_mode", "kb.synchronous", "foreign_keys", "query_only")
            }
            for link in links
        ]
        for link in links:
            link.close()
        return found

    wanted = {"kb.journal_mode": "wal", "kb.synchronous": 2, "foreign_keys": 1}
    assert await asyncio.to_thread(settings) == [
        wanted | {"query_only": 0},
        wanted | {"query_only": 1},
    ]


async def test_only_its_owner_may_read_the_files(path, store):
    await store.write(ledger.add, "a")
    await store.backup(path.parent / "copy.db")
    for each in path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each


async def test_readers_that_overlap_for_ever_do_not_make_the_log_grow_for_ever(
    path, store, monkeypatch
):
    monkeypatch.setattr(sqlite, "LOG_PAGES_MAX", 300)
    ending = threading.Event()
    baton = threading.Semaphore(0)

    def look(view: View) -> None:
        ledger.names(view)
        baton.acquire(timeout=0.05)
        ledger.names(view)

    async def keep_looking() -> None:
        while not ending.is_set():
            await store.read(look)

    looking = [asyncio.create_task(keep_looking()) for _ in range(3)]
    longest = 0
    content = b"x" * 100_000
    for number in range(150):
        await store.write(ledger.add, f"e{number}", content=content)
        longest = max(longest, Path(f"{path}-wal").stat().st_size)
    ending.set()
    await asyncio.gather(*looking)
    assert longest < 8_000_000, "15 MB went through the log"
    assert await store.check() == []


async def test_a_copy_is_whole_although_it_is_made_while_others_write(path, store, monkeypatch):
    monkeypatch.setattr(sqlite, "COPY_PAGES", 2)  # so that writers come between
    await store.write(ledger.add, "big", content=b"x" * 1_000_000)
    ending = asyncio.Event()

    async def keep_writing() -> int:
        number = 0
        while not ending.is_set():
            await store.write(ledger.add, f"e{number}", content=b"x" * 3000)
            number += 1
        return number

    writing = [asyncio.create_task(keep_writing())]
    for number in range(3):
        copy = path.parent / "copies" / f"{number}.db"
        copy.parent.mkdir(exist_ok=True)
        size = await store.backup(copy)
        assert size == copy.stat().st_size
        again = await open_store(f"sqlite:{copy}", clock=SystemClock(), rooms=ledger.ROOMS)
        log = await log_of(again)
        assert [seq for seq, _, _ in log] == list(range(1, len(log) + 1))
        assert sorted(name for _, _, name in log) == await again.read(ledger.names)
        assert await again.check() == []
        await again.close()
    ending.set()
    await asyncio.gather(*writing)


class Meanwhile:
    """How many pages a step of a copy takes; before each step it does something else."""

    def __init__(self, between: Callable[[], None]) -> None:
        self._between = between
        self.steps = 0

    def __index__(self) -> int:
        self.steps += 1
        if self.steps > 200:
            return -1  # the copy begins again and again: end it, to see what is in it
        self._between()
        return 20


async def test_a_copy_is_of_the_moment_at_which_it_began(path, store, monkeypatch):
    await store.write(ledger.add, "big", content=b"x" * 1_000_000)
    loop, written = asyncio.get_running_loop(), []

    def write() -> None:
        name = f"e{len(written):02}"
        future = asyncio.run_coroutine_threadsafe(store.write(ledger.add, name), loop)
        written.append(future.result(10))

    steps = Meanwhile(write)
    monkeypatch.setattr(sqlite, "COPY_PAGES", steps)
    copy = path.parent / "copy.db"
    await store.backup(copy)
    assert 10 < steps.steps == len(written) < 30, "a commit between each two steps, none restarted"
    again = await open_store(f"sqlite:{copy}", clock=SystemClock(), rooms=ledger.ROOMS)
    assert await again.read(ledger.names) == ["big"]
    assert await log_of(again) == gaplessly("big")
    assert await again.check() == []
    await again.close()
    assert len(await store.read(ledger.names)) == 1 + len(written)


async def test_going_back_to_a_copy_makes_another_log_so_that_no_cursor_skips(path, store, clock):
    await store.write(ledger.add, "a")
    place = (await store.read(events.end)).render()
    copy = path.parent / "copy.db"
    await store.backup(copy)
    again = await open_store(f"sqlite:{copy}", clock=clock, rooms=ledger.ROOMS)
    with pytest.raises(EventsGone) as caught:
        await again.read(events.page, place, limit=10)
    assert caught.value.details["reason"] == "the log was made anew"
    assert len((await again.read(events.page, None, limit=10)).items) == 1
    await again.close()
    assert (await store.read(events.page, place, limit=10)).items == []


async def test_a_copy_never_overwrites_and_leaves_nothing_half_done(path, store):
    target = path.parent / "copy.db"
    target.write_text("mine")
    for place in (target, path.parent / "nowhere" / "copy.db"):
        with pytest.raises(CovenError) as caught:
            await store.backup(place)
        assert caught.value.code == "STORE_UNAVAILABLE"
    assert target.read_text() == "mine"
    assert not [each for each in path.parent.iterdir() if "unfinished" in each.name]


async def test_a_statement_looked_at_by_many_threads_at_once_has_its_columns_once(store):
    """Every thread that is first fills in the names of the columns."""
    text = "-- name: it\n-- One row.\nSELECT name, amount, note FROM kb.entries;"
    await store.write(ledger.add, "a")
    for _ in range(30):
        statement = parse(text, source="test")["it"]
        rows = await asyncio.gather(
            *(store.read(lambda view, it=statement: view.all(it)) for _ in range(16))
        )
        assert rows == [[{"name": "a", "amount": 1, "note": ""}]] * 16
        assert statement.columns == ["name", "amount", "note"]


async def test_deleting_a_row_that_others_need_is_refused(store):
    def build(tx: Transaction) -> None:
        for text in (
            "CREATE TABLE kb.parents (id INTEGER PRIMARY KEY) STRICT",
            "CREATE TABLE kb.kids (id INTEGER REFERENCES parents (id)) STRICT",
            "INSERT INTO kb.parents VALUES (1)",
            "INSERT INTO kb.kids VALUES (1)",
        ):
            tx.run(parse(refused(text), source="test")["it"])

    await store.write(build)
    with pytest.raises(StatementRefused):
        await store.write(
            lambda tx: tx.run(parse(refused("DELETE FROM kb.parents"), source="test")["it"])
        )
    assert await store.check() == []


async def test_a_check_tells_of_a_row_that_refers_to_nothing(path, store):
    def build(tx: Transaction) -> None:
        for text in (
            "CREATE TABLE kb.parents (id INTEGER PRIMARY KEY) STRICT",
            "CREATE TABLE kb.kids (id INTEGER REFERENCES parents (id)) STRICT",
        ):
            tx.run(parse(refused(text), source="test")["it"])

    def orphan() -> None:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.execute("INSERT INTO kids VALUES (7)")
        connection.close()

    await store.write(build)
    await asyncio.to_thread(orphan)
    assert await store.check() == ["kids row 1 refers to a missing parents"]


async def test_a_reader_that_failed_leaves_a_connection_that_works(store):
    for _ in range(20):
        with pytest.raises(StatementRefused):
            await store.read(lambda view: view.all(ledger.queries["broken"]))
    assert await store.read(ledger.names) == []


async def test_memory_and_relative_names_are_files_like_any_other(tmp_path, monkeypatch, clock):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "here.db"):
        opened = await open_store(f"sqlite:{name}", clock=clock, rooms=ledger.ROOMS)
        await opened.write(ledger.add, "a")
        await opened.close()
        assert apsw.Connection(str(tmp_path / name), flags=apsw.SQLITE_OPEN_READWRITE)
