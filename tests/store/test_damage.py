"""What an embedded store does when its disk, its files or its neighbours misbehave."""

import asyncio
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest

from coven.core import failpoints
from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.store import Store, open_store, sqlite
from coven.store.engine import DiskFull, OutcomeUnknown, StoreCorrupt, StoreReadOnly
from coven.store.store import make_engine
from tests.contracts.store_contract import gaplessly, in_one_group, log_of
from tests.daemon_edge.unprivileged import unprivileged
from tests.store import ledger

pytestmark = pytest.mark.slow

HOLD = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Store]:
    store = await open_store(f"sqlite:{path}", clock=SystemClock(), rooms=ledger.ROOMS)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def foreign_program(path: Path, statement: str) -> AsyncIterator[Callable[[], None]]:
    """Another program that holds a lock on the file until it is told to let go."""
    program = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", HOLD, str(path), statement],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert program.stdin
    assert program.stdout
    try:
        assert await asyncio.to_thread(program.stdout.readline) == b"held\n"
        yield program.stdin.close
    finally:
        program.stdin.close()
        await asyncio.to_thread(program.wait)
        program.stdout.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    told = subprocess.run(mount, check=False, capture_output=True, text=True)
    assert told.returncode == 0, f"this test needs the right to mount: {told.stderr}"
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def made(path: Path, *names: str) -> None:
    async with opened(path) as store:
        await store.write(ledger.add_all, list(names))


# The disk


async def test_a_full_disk_refuses_what_does_not_fit_and_keeps_what_was_acknowledged(small_disk):
    filler = small_disk / "filler"
    filler.write_bytes(bytes(700_000))
    async with opened(small_disk / "coven.db") as store:
        kept: set[str] = set()
        refused: set[str] = set()
        for turn in range(12):
            names = [f"t{turn:02}n{number:02}" for number in range(6)]
            outcomes = await asyncio.gather(
                *(store.write(ledger.add, name, content=os.urandom(20_000)) for name in names),
                return_exceptions=True,
            )
            for name, outcome in zip(names, outcomes, strict=True):
                (kept if isinstance(outcome, int) else refused).add(name)
            assert {type(outcome) for outcome in outcomes} <= {int, DiskFull}
        assert kept
        assert refused
        assert await store.read(ledger.names) == sorted(kept)
        filler.unlink()
        assert await store.write(ledger.add, "after") == len(kept) + 1
        assert [seq for seq, _, _ in await log_of(store)] == list(range(1, len(kept) + 2))
        assert await store.check() == []
    async with opened(small_disk / "coven.db") as store:
        assert set(await store.read(ledger.names)) == kept | {"after"}


async def test_a_function_too_big_for_the_disk_does_not_harm_the_others_of_its_group(
    small_disk, monkeypatch
):
    monkeypatch.setattr(sqlite, "CACHE_KIB", 100)  # so that the disk is full before the commit
    swallowed: list[str] = []

    def greedy(tx, name):
        try:
            for number in range(200):
                ledger.add(tx, f"{name}{number}", content=os.urandom(20_000))
        except DiskFull:
            # The transaction is gone: what follows must not be committed on its own.
            swallowed.append(name)
            ledger.add_silently(tx, f"{name} after all")

    async with opened(small_disk / "coven.db") as store:
        outcomes = await in_one_group(
            store,
            store.write(ledger.add, "a"),
            store.write(greedy, "big"),
            store.write(ledger.add, "b"),
        )
        assert swallowed
        assert [type(outcome) for outcome in outcomes] == [int, DiskFull, int]
        assert await store.read(ledger.names) == ["a", "b"]
        assert await log_of(store) == gaplessly("a", "b")


async def test_a_store_cannot_be_made_or_copied_where_there_is_no_room(small_disk, tmp_path):
    await made(tmp_path / "coven.db", "a")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2_000_000))
    with pytest.raises(CovenError) as caught:
        await made(small_disk / "coven.db")
    assert caught.value.code == "DISK_FULL"
    async with opened(tmp_path / "coven.db") as store:
        await store.write(ledger.add, "b", content=os.urandom(300_000))
        with pytest.raises(DiskFull):
            await store.backup(small_disk / "copy.db")
    left = {path.name for path in small_disk.iterdir()}
    assert left <= {"filler", "coven.db", "coven.db-wal", "coven.db-shm", "coven.db-journal"}


async def test_a_disk_that_turns_read_only_is_told_and_nothing_acknowledged_is_lost(small_disk):
    async with opened(small_disk / "coven.db") as store:
        await store.write(ledger.add, "a")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreReadOnly):
        await made(small_disk / "coven.db")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    async with opened(small_disk / "coven.db") as store:
        assert await store.read(ledger.names) == ["a"]


@pytest.mark.parametrize("what", ["directory", "file"])
def test_a_place_that_may_not_be_written_is_told_as_such(what, tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    path = folder / "coven.db"
    asyncio.run(made(path, "a"))
    (folder if what == "directory" else path).chmod(0o500 if what == "directory" else 0o400)
    with unprivileged(), pytest.raises(StoreReadOnly):
        make_engine(f"sqlite:{path}", clock=SystemClock())
    folder.chmod(0o700)
    path.chmod(0o600)


def test_a_place_that_does_not_exist_is_told_as_such(tmp_path):
    with pytest.raises(CovenError) as caught:
        make_engine(f"sqlite:{tmp_path / 'nowhere' / 'coven.db'}", clock=SystemClock())
    assert caught.value.code == "STORE_UNAVAILABLE"


@pytest.mark.parametrize(
    ("point", "outcome"), [("store.commit.before", int), ("store.commit.after", OutcomeUnknown)]
)
async def test_an_error_of_the_disk_around_a_commit_is_told_truthfully(point, outcome, tmp_path):
    """Before the commit the function runs again; after it nobody may claim that it failed."""
    async with opened(tmp_path / "coven.db") as store:
        await store.write(ledger.add, "a")
        failpoints.arm(f"{point}=error")
        try:
            outcomes = await asyncio.gather(store.write(ledger.add, "b"), return_exceptions=True)
        finally:
            failpoints.arm("")
        assert [type(outcome) for outcome in outcomes] == [outcome]
        assert await store.write(ledger.add, "c") == 3
        assert await log_of(store) == gaplessly("a", "b", "c")


# The write-ahead log


@pytest.fixture
async def crashed(tmp_path: Path) -> tuple[Path, list[int]]:
    """The files of a store as a crash leaves them, and how long the log was after each commit."""
    source, copy = tmp_path / "source", tmp_path / "crashed"
    source.mkdir()
    copy.mkdir()
    lengths: list[int] = []
    async with opened(source / "coven.db") as store:
        for number in range(6):
            await store.write(ledger.add, f"e{number}", content=os.urandom(9_000))
            lengths.append((source / "coven.db-wal").stat().st_size)
        # By another program: a descriptor that we close would take SQLite's locks with it.
        files = [str(source / "coven.db"), str(source / "coven.db-wal")]
        subprocess.run(["cp", *files, str(copy)], check=True)
    return copy, lengths


def cuts(log: bytes, lengths: list[int]) -> dict[str, int]:
    """Where a log can end: one place in every class of byte."""
    (page_bytes,) = struct.unpack_from(">I", log, 8)
    frame = 24 + page_bytes
    third, fourth = lengths[2], lengths[3]
    assert (fourth - third) // frame >= 3, "a commit of several frames"
    return {
        "nothing": 0,
        "in the header": 17,
        "after the header": 32,
        "in the first frame": 32 + 100,
        "at the end of a commit": third,
        "in a frame header": third + 11,
        "after a frame header": third + 24,
        "in a frame body": third + 24 + page_bytes // 2,
        "between two frames": third + frame,
        "before the commit frame": fourth - frame,
        "in the header of the commit frame": fourth - frame + 7,
        "in the body of the commit frame": fourth - 1,
        "at the end": len(log),
        "one byte missing": len(log) - 1,
    }


async def test_a_log_cut_short_anywhere_leaves_whole_commits_in_their_order(crashed, tmp_path):
    folder, lengths = crashed
    log = (folder / "coven.db-wal").read_bytes()
    for name, length in cuts(log, lengths).items():
        whole = sum(end <= length for end in lengths)
        await _proved(folder, log[:length], whole, name)


async def test_a_flipped_byte_in_the_log_ends_it_there(crashed, tmp_path):
    folder, lengths = crashed
    log = (folder / "coven.db-wal").read_bytes()
    for at in (lengths[2] + 3, lengths[2] + 60, lengths[3] - 5, lengths[4] - 4000):
        flipped = bytearray(log)
        flipped[at] ^= 0x40
        await _proved(folder, bytes(flipped), sum(end <= at for end in lengths), f"flipped {at}")


async def _proved(folder: Path, log: bytes, whole: int, name: str) -> None:
    copy = folder.parent / name.replace(" ", "-")
    shutil.copytree(folder, copy)
    (copy / "coven.db-wal").write_bytes(log)
    expected = [f"e{number}" for number in range(whole)]
    async with opened(copy / "coven.db") as store:
        assert await store.read(ledger.names) == expected, name
        assert await log_of(store) == gaplessly(*expected), name
        assert await store.write(ledger.add, "next") == whole + 1, name
        assert await store.check() == [], name


# The file


def _text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 400)


def _short_text(path: Path) -> None:
    path.write_text("x")


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _database(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode=WAL; CREATE TABLE photos (x); PRAGMA user_version=7")
    connection.close()


@pytest.mark.parametrize("make", [_text, _short_text, _folder, _pipe, _database])
async def test_what_is_not_ours_is_refused_and_left_as_it_is(make, tmp_path):
    path = tmp_path / "coven.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(CovenError) as caught:
        await made(path)
    assert caught.value.code == "FOREIGN_DATABASE"
    assert before is None or path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["coven.db"]


async def test_a_foreign_database_with_an_open_log_keeps_its_log(tmp_path):
    path = tmp_path / "coven.db"
    _database(path)
    statement = "BEGIN IMMEDIATE; CREATE TABLE more (x); COMMIT"
    async with foreign_program(path, statement):
        log = (tmp_path / "coven.db-wal").read_bytes()
        with pytest.raises(CovenError) as caught:
            await made(path)
        assert caught.value.code == "FOREIGN_DATABASE"
        assert (tmp_path / "coven.db-wal").read_bytes() == log


@pytest.mark.parametrize("target", ["missing", "elsewhere"])
async def test_a_link_in_place_of_the_file_is_refused(target, tmp_path):
    """Its directory's lock would protect nothing."""
    await made(tmp_path / "elsewhere")
    link = tmp_path / "here" / "coven.db"
    link.parent.mkdir()
    link.symlink_to(tmp_path / target)
    with pytest.raises(CovenError) as caught:
        await made(link)
    assert caught.value.code == "STORE_UNAVAILABLE"
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("size", [0, 10, 100, 600, 4096, 5000])
async def test_a_file_that_was_cut_short_is_empty_or_told(size, tmp_path):
    path = tmp_path / "coven.db"
    await made(path, "a", "b")
    os.truncate(path, size)
    refusal = await _refusal(path)
    assert refusal in ((None,) if size == 0 else ("FOREIGN_DATABASE", "STORE_CORRUPT"))


@pytest.mark.parametrize("page", range(8))
async def test_a_damaged_page_is_told_and_never_read_as_if_it_were_whole(page, tmp_path):
    path = tmp_path / "coven.db"
    async with opened(path) as store:
        for number in range(40):
            await store.write(ledger.add, f"e{number}", content=os.urandom(500))
        whole = await log_of(store), await store.read(ledger.names)
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(os.urandom(4096))
    if await _refusal(path) is not None:
        return
    async with opened(path) as store:
        for read, was in zip((log_of, _names), whole, strict=True):
            try:
                assert await read(store) == was
            except StoreCorrupt as damage:
                assert damage.remedy  # noqa: PT017 - either answer is a true one


async def _names(store: Store) -> list[str]:
    return await store.read(ledger.names)


async def _refusal(path: Path) -> str | None:
    """With which code the store does not open or says that it is damaged; None when all is well."""
    try:
        async with opened(path) as store:
            return StoreCorrupt.code if await store.check() else None
    except CovenError as error:
        return error.code


async def test_a_file_that_is_taken_away_is_not_silently_made_again(tmp_path):
    path = tmp_path / "coven.db"
    async with opened(path) as store:
        await store.write(ledger.add, "a")
        path.rename(tmp_path / "away.db")
        engine = store._house.engine  # the next reader opens the file by its name
        while not engine._idle.empty():
            engine._idle.get().close()
        with pytest.raises(CovenError) as caught:
            await store.read(ledger.names)
        assert caught.value.code == "STORE_UNAVAILABLE"
        assert not path.exists()
        (tmp_path / "away.db").rename(path)


# The neighbours


async def test_a_foreign_lock_at_boot_is_told_as_a_locked_database(tmp_path):
    path = tmp_path / "coven.db"
    await made(path, "a")
    async with foreign_program(path, "BEGIN IMMEDIATE") as let_go:
        with pytest.raises(CovenError, match=r"^Database locked by another process") as caught:
            await made(path, "b")
        assert caught.value.code == "DATABASE_LOCKED"
        let_go()
    await made(path, "c")


async def test_a_foreign_lock_while_running_refuses_the_whole_group_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 250)
    path = tmp_path / "coven.db"
    async with opened(path) as store:
        await store.write(ledger.add, "a")
        async with foreign_program(path, "BEGIN IMMEDIATE"):
            # Sixty callers that waited for the lock one after the other would wait for minutes.
            outcomes = await asyncio.gather(
                *(store.write(ledger.add, f"e{number}") for number in range(60)),
                return_exceptions=True,
            )
            assert {getattr(outcome, "code", None) for outcome in outcomes} == {"DATABASE_LOCKED"}
            assert await store.read(ledger.names) == ["a"]
        assert await store.write(ledger.add, "b") == 2


async def test_another_program_may_read_the_file_while_the_store_runs(tmp_path):
    path = tmp_path / "coven.db"
    async with opened(path) as store:
        await store.write(ledger.add, "a")
        async with foreign_program(path, "BEGIN; SELECT * FROM entries"):
            added = [f"e{n:02}" for n in range(30)]
            assert await asyncio.gather(*(store.write(ledger.add, name) for name in added)) == list(
                range(2, 32)
            )
            assert await store.read(ledger.names) == ["a", *added]
            assert await store.check() == []
