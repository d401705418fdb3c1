"""Opening the store: what a first start makes, what old files lead to, and who may have it."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from coven.store.lock import DatabaseLocked
from tests.daemon.lives import live
from tests.faults.harness import RealDaemon, real_daemon
from tests.spec.manifest import requirement
from tests.spec.visitors import get, post, visiting
from tests.upgrades import old_stores

BUCKETS = {
    *("tasks", "tags", "children", "task_history", "agents", "workflows", "questions"),
    *("task_questions", "events", "meta", "agent_workspaces", "agent_runs"),
    *("agent_run_messages", "agent_run_tool_calls"),
}
PROMPT = "Run `coven migrate` to migrate existing state"
LOCKED = "Database locked by another process"
OLD = ("state.json", "workflows/flow-1.json", "familiars/familiar-1.json")

# Foreign programs: the SQLite of Python's own library, in a process that is not the daemon's.
HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
READ = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
for (title,) in database.execute("SELECT title FROM notifications ORDER BY title"):
    print(title)
"""


@pytest.fixture
def arguments(engine_name: str, store_url: str) -> list[str]:
    """How `coven up` is told which engine it runs on."""
    return ["--store", "sqlite" if engine_name == "sqlite" else store_url]


@pytest.fixture
def old(project: Path) -> dict[Path, bytes]:
    """Files of the older layout, and what stands in them."""
    files = {project / ".coven" / name: f'{{"of": "{name}"}}\n'.encode() for name in OLD}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return files


@pytest.fixture
def holder(project: Path, engine_name: str, store_url: str) -> Iterator[RealDaemon]:
    """A daemon in a process of its own, in the directory of the other fixtures."""
    store = "sqlite" if engine_name == "sqlite" else store_url
    with real_daemon(project, store) as daemon:
        yield daemon


@contextlib.contextmanager
def foreign(program: str, database: Path) -> Iterator[subprocess.Popen[str]]:
    """Somebody else's program, which is given the path of the database."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def of_the_older_layout(state_directory: Path) -> dict[Path, tuple[bytes, float]]:
    """Everything that is there under the old names, wherever it came from."""
    found = [state_directory / "state.json"]
    found += [
        *(state_directory / "workflows").iterdir(),
        *(state_directory / "familiars").iterdir(),
    ]
    return {path: (path.read_bytes(), path.stat().st_mtime) for path in found}


@requirement("U-31", "U-32")
async def test_a_first_start_makes_every_bucket_and_writes_down_its_schema(
    settings: Settings, clock: SystemClock, engine_name: str
):
    """Promise: nobody has to set a store up, and it says which schema it has."""
    assert not settings.state_directory.exists()
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        version = await get(http, "/version")
    assert (settings.state_directory / "coven.db").exists() == (engine_name == "sqlite")
    tables = old_stores.rows(settings.store_url)
    assert set(tables) >= BUCKETS
    meta = {row["key"]: row["value"] for row in tables["meta"]}
    assert meta["schema_version"] == str(version["schema_version"])
    assert version["schema_version"] >= 10


@requirement("U-33")
@pytest.mark.parametrize("name", OLD)
def test_old_files_stop_the_first_start_with_the_prompt(
    project: Path, arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]
):
    """Promise: whoever has state of the older layout is told how to bring it along."""
    path = project / ".coven" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert live(project, *arguments) != 0
    told = capsys.readouterr()
    assert PROMPT in told.err
    assert f".coven/{name}" in told.err
    assert "coven up --fresh" in told.err
    assert [found for found in project.rglob("*") if found.is_file()] == [path]


@requirement("U-33", "U-34")
def test_a_fresh_start_runs_beside_the_old_files_and_leaves_every_byte_of_them(
    project: Path,
    arguments: list[str],
    old: dict[Path, bytes],
    capsys: pytest.CaptureFixture[str],
):
    """Promise: starting without the old state is a choice, and it can be taken back."""
    before = of_the_older_layout(project / ".coven")

    def visit(http: httpx.Client) -> None:
        assert http.get("/state").json()["tasks"] == []
        draft = {"kind": "spec", "title": "after a fresh start"}
        assert http.post("/api/v1/notifications", json=draft).status_code == 201

    assert live(project, "--fresh", *arguments, visit=visit) == 0
    assert PROMPT not in capsys.readouterr().out
    assert live(project, *arguments, visit=visit) == 0, "the decision was made the first time"
    assert PROMPT in capsys.readouterr().out
    assert of_the_older_layout(project / ".coven") == before
    assert {path: path.read_bytes() for path in old} == old


@requirement("U-36")
@pytest.mark.fault
async def test_a_second_daemon_is_refused_and_told_who_holds_the_database(
    daemon: Daemon, http: httpx.AsyncClient, arguments: list[str]
):
    """Promise: a second daemon ends at once with a clear error, and the first does not notice."""
    second = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "coven.daemon", "up", "--port", "0", *arguments),
        cwd=daemon.settings.directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(5):
            out, err = await second.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            second.kill()
    assert second.returncode not in (0, None)
    assert LOCKED in err.decode()
    assert f"Process {os.getpid()} " in err.decode()
    assert (out, b"Traceback" in err) == (b"", False)
    await post(http, "the first goes on")
    assert (await get(http, "/health"))["pid"] == os.getpid()


@requirement("U-36", "U-37")
async def test_of_two_daemons_that_start_together_exactly_one_has_the_database(
    settings: Settings, clock: SystemClock
):
    """Promise: there is no moment at which two can have it."""
    async with contextlib.AsyncExitStack() as stack:
        starts = [stack.enter_async_context(boot.running(settings, clock)) for _ in range(4)]
        ended = await asyncio.gather(*starts, return_exceptions=True)
        daemons = [end for end in ended if isinstance(end, Daemon)]
        refused = [end for end in ended if isinstance(end, DatabaseLocked)]
        assert (len(daemons), len(refused)) == (1, 3)
        assert refused[0].details["pid"] == os.getpid()
        async with visiting(daemons[0]) as http:
            await post(http, "it works")


@requirement("U-37")
@pytest.mark.fault
async def test_a_killed_daemon_frees_the_database_at_once_and_leaves_it_whole(
    holder: RealDaemon, settings: Settings, clock: SystemClock
):
    """Promise: the kernel keeps the lock, so no crash leaves one behind, and nothing is damaged."""
    assert holder.start(), holder.output
    with pytest.raises(DatabaseLocked):
        async with boot.running(settings, clock):
            raise AssertionError("two daemons on one database")
    async with holder.connect() as http:
        told = await post(http, *(f"title {number}" for number in range(10)))
    holder.kill()
    left = {path.name for path in settings.state_directory.iterdir()}
    assert {"coven.lock", "covend.json", "covend.sock"} <= left, "nobody has tidied up"
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        kept = (await get(http, "/api/v1/notifications"))["items"]
        checked = await http.post("/api/v1/store/check")
    assert sorted(kept, key=lambda row: row["title"]) == told
    assert checked.json() == {"ok": True, "problems": []}


@requirement("U-36")
@pytest.mark.fault
def test_a_foreign_program_with_a_write_lock_refuses_the_start(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    """Promise: what holds the file of the embedded store is told, whoever it is."""
    assert live(project) == 0
    database = project / ".coven" / "coven.db"
    with foreign(HOLD, database) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert live(project) != 0
    told = capsys.readouterr().err
    assert LOCKED in told
    assert f"Process {holder.pid} " in told
    assert live(project) == 0, "it was the foreign lock and nothing else"


@requirement("U-37")
@pytest.mark.fault
async def test_another_program_reads_the_database_while_the_daemon_writes(
    daemon: Daemon, http: httpx.AsyncClient, engine_name: str
):
    """Promise: the lock keeps a second daemon out, not whoever wants to look."""
    await post(http, "one", "two")
    if engine_name == "postgres":
        with psycopg.connect(daemon.settings.store_url) as connection:
            found = connection.execute("SELECT title FROM kb.notifications ORDER BY title")
            titles = [title for (title,) in found.fetchall()]
    else:
        with foreign(READ, daemon.settings.state_directory / "coven.db") as reader:
            titles = reader.communicate(timeout=10)[0].splitlines()
            assert reader.returncode == 0
    assert titles == ["one", "two"]
    await post(http, "three")
