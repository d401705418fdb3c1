"""The lock, between real processes: one holder, and nothing left when it dies."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from coven.core import failpoints
from coven.core.clock import SystemClock
from coven.store import lock
from coven.store.lock import DatabaseLocked, LockUnusable
from tests.eventually import eventually_here

TAKE = """
import os, subprocess, sys
from pathlib import Path
from coven.core import failpoints
from coven.core.clock import SystemClock
from coven.store import lock
failpoints.arm(os.environ.get("COVEN_FAILPOINTS", ""))
try:
    held = lock.take(Path(sys.argv[1]), clock=SystemClock())
except lock.DatabaseLocked as error:
    print(error.message, flush=True)
    sys.exit(7)
"""
TELL_AND_WAIT = """
print("held", flush=True)
sys.stdin.read()
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "coven.lock"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Starts a process that takes the lock and then runs some lines."""
    with ExitStack() as ending:

        def begin(then: str = TELL_AND_WAIT, failpoints: str = "") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", TAKE + then, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={"COVEN_FAILPOINTS": failpoints},
            )
            ending.enter_context(process)
            ending.callback(process.kill)
            return process

        yield begin


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def take(path: Path) -> lock.Lock:
    return lock.take(path, clock=SystemClock())


def test_a_second_process_is_refused_and_told_who_holds_it(path: Path, start: Start) -> None:
    holder = start()
    assert line_of(holder) == "held"
    with pytest.raises(DatabaseLocked) as refused:
        take(path)
    assert refused.value.message.startswith("Database locked by another process")
    assert f"Process {holder.pid} on {socket.gethostname()} holds it since" in refused.value.message
    assert refused.value.details["pid"] == holder.pid
    assert refused.value.details["host"] == socket.gethostname()


def test_the_kernel_frees_it_when_its_holder_is_killed(path: Path, start: Start) -> None:
    holder = start()
    assert line_of(holder) == "held"
    holder.kill()
    holder.wait()
    assert path.stat().st_size > 0, "the file is left over, and says a pid that is gone"
    with take(path) as held:
        assert held.holder.pid == os.getpid()


def test_it_is_free_after_a_release_and_a_release_can_be_repeated(path: Path) -> None:
    held = take(path)
    with pytest.raises(DatabaseLocked):
        take(path)
    held.release()
    held.release()
    take(path).release()


@pytest.mark.parametrize("content", ["", "4711", '{"pid": 1, "host": "x"}', "[]", "\0" * 9000])
def test_what_stands_in_a_stale_file_does_not_matter(path: Path, content: str) -> None:
    path.write_text(content)
    assert lock.holder(path) is None
    take(path).release()


def test_removing_the_file_does_not_let_a_second_one_in(path: Path, start: Start) -> None:
    holder = start()
    assert line_of(holder) == "held"
    path.unlink()
    with pytest.raises(DatabaseLocked) as refused:
        take(path)
    assert refused.value.details["pid"] == holder.pid


def test_the_file_alone_is_a_lock_where_directories_cannot_be_locked(
    path: Path, start: Start
) -> None:
    """Such as on NFS: the descriptor of the directory lock is given back here by hand."""
    holder = start("os.close(held._descriptors.pop())" + TELL_AND_WAIT)
    assert line_of(holder) == "held"
    with pytest.raises(DatabaseLocked) as refused:
        take(path)
    assert refused.value.details["pid"] == holder.pid


def test_opening_and_closing_the_file_does_not_lose_it(path: Path, start: Start) -> None:
    holder = start("open(sys.argv[1]).close(); lock.holder(Path(sys.argv[1]))" + TELL_AND_WAIT)
    assert line_of(holder) == "held"
    with pytest.raises(DatabaseLocked):
        take(path)


def test_asking_who_holds_it_disturbs_nobody(path: Path, start: Start) -> None:
    assert lock.holder(path) is None
    assert not path.exists()
    holder = start()
    assert line_of(holder) == "held"
    found = lock.holder(path)
    assert found is not None
    assert (found.pid, found.host) == (holder.pid, socket.gethostname())
    assert found.started_at is not None
    holder.communicate()
    assert lock.holder(path) is None


def is_free(path: Path) -> bool:
    try:
        take(path).release()
    except DatabaseLocked:
        return False
    return True


@pytest.mark.parametrize(
    "offspring",
    [
        "child = subprocess.Popen(['sleep', '60'], stdin=subprocess.DEVNULL, stdout=2).pid",
        "child = os.fork() or os.close(1) or os.execvp('sleep', ['sleep', '60'])",
        "child = os.fork() or os.close(1) or __import__('signal').pause()",
    ],
    ids=["started", "forked and executed", "only forked"],
)
def test_what_the_holder_started_does_not_keep_it(path: Path, start: Start, offspring: str) -> None:
    holder = start(offspring + "\nprint(child, flush=True)" + TELL_AND_WAIT)
    child = int(line_of(holder))
    try:
        assert line_of(holder) == "held"
        with pytest.raises(DatabaseLocked):
            take(path)
        holder.kill()
        holder.wait()
        os.kill(child, 0)
        # A child that was forked a moment ago gives the lock up with its first own instruction.
        eventually_here(lambda: is_free(path))
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.fault
def test_of_many_that_start_at_once_exactly_one_has_it(start: Start) -> None:
    processes = [start() for _ in range(8)]
    told = [line_of(process) for process in processes]
    assert told.count("held") == 1
    assert sum(line.startswith("Database locked by another process") for line in told) == 7


@pytest.mark.fault
def test_a_kill_between_locking_and_saying_who_leaves_nothing(path: Path, start: Start) -> None:
    killed = start(failpoints="store.lock.taken=kill")
    assert killed.wait() == -signal.SIGKILL
    take(path).release()


def test_a_failure_after_locking_gives_the_lock_back(path: Path) -> None:
    failpoints.arm("store.lock.taken=error")
    with pytest.raises(failpoints.FailpointError):
        take(path)
    take(path).release()


@pytest.mark.fault
def test_a_file_that_is_replaced_before_it_is_locked_is_not_the_one_that_counts(
    path: Path, start: Start
) -> None:
    process = start(failpoints="store.lock.opened=stop")
    os.waitpid(process.pid, os.WUNTRACED)
    path.rename(path.with_name("replaced"))
    path.write_text("another file")
    os.kill(process.pid, signal.SIGCONT)
    assert line_of(process) == "held"
    assert f'"pid": {process.pid}' in path.read_text()
    assert path.with_name("replaced").read_text() == ""


@pytest.mark.parametrize("what", ["directory", "link", "pipe"])
def test_something_else_in_its_place_is_told(path: Path, what: str) -> None:
    match what:
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to(path.with_name("target"))
        case _:
            os.mkfifo(path)
    with pytest.raises(LockUnusable, match="cannot be used"):
        take(path)
    assert not path.with_name("target").exists()


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(LockUnusable, match="No such file or directory"):
        take(tmp_path / "none" / "coven.lock")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_foreign_program_that_locks_the_database_is_named(tmp_path: Path, mode: str) -> None:
    database = tmp_path / "coven.db"
    script = f"""
import apsw, sys
connection = apsw.Connection({str(database)!r})
connection.execute("PRAGMA journal_mode={mode}")
connection.execute("CREATE TABLE t (a); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)")
print("held", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as foreign:
        assert line_of(foreign) == "held"
        error = lock.foreign_writer(database)
        foreign.communicate()
    assert error.message.startswith("Database locked by another process")
    assert error.details["pid"] == foreign.pid
    assert lock.foreign_writer(database).details["pid"] is None
