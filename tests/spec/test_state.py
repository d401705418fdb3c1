"""The whole state at once: `/state` is one instant, and one database holds all of it."""

import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from coven import config
from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from tests.spec import quartets
from tests.spec.manifest import requirement
from tests.spec.visitors import Json, get, log_of, post, visiting

QUARTETS = 60
READERS = 3
OLD = ("state.json", "workflows", "familiars")


@pytest.fixture
async def states(daemon: Daemon, http: httpx.AsyncClient) -> list[Json]:
    """Answers of `/state` while quartets of rows are written, and the last of them afterwards."""
    seen: list[Json] = []
    written = asyncio.Event()

    async def read() -> None:
        while not written.is_set():
            seen.append(await get(http, "/state"))

    readers = [asyncio.create_task(read()) for _ in range(READERS)]
    for number in range(QUARTETS):
        await daemon.store.write(quartets.add, f"task {number}")
    written.set()
    await asyncio.gather(*readers)
    return [*seen, await get(http, "/state")]


@pytest.fixture
def elsewhere(settings: Settings, engine_name: str, tmp_path: Path) -> Settings:
    """A directory in which no daemon has ever been."""
    other = tmp_path / "other"
    (other / ".coven").mkdir(parents=True)
    store = None if engine_name == "sqlite" else settings.store_url
    return config.load(other, environment={}, port=0, store=store)


@requirement("U-03")
async def test_a_state_never_shows_half_of_what_one_transaction_wrote(states: list[Json]):
    """Promise: tasks, agents, workflows and questions are those of one single instant."""
    sizes = {len(state["tasks"]) for state in states}
    assert len(sizes - {0, QUARTETS}) > 5, "the readers read while the writer wrote"
    for state in states:
        known = quartets.tasks_of(state)
        assert all(known["tasks"] == tasks for tasks in known.values())


@requirement("U-03")
async def test_a_state_and_the_events_after_its_cursor_are_the_whole_story(
    states: list[Json], http: httpx.AsyncClient
):
    """Promise: a state holds what happened up to its `seq`, and nothing that happened later."""
    whole = await log_of(http)
    numbers = {e["entity_id"]: e["seq"] for e in whole if e["type"] == "task.quartered"}
    for state in states:
        held = {number for number in numbers.values() if number <= state["seq"]}
        assert {numbers[task["id"]] for task in state["tasks"]} == held
    for state in states[:: max(len(states) // 5, 1)]:
        rest = await log_of(http, since=state["cursor"])
        assert rest == [event for event in whole if event["seq"] > state["seq"]]
    assert states[-1]["seq"] == whole[-1]["seq"]


@requirement("U-04")
async def test_a_daemon_that_is_given_the_database_alone_knows_everything(
    settings: Settings, elsewhere: Settings, clock: SystemClock, engine_name: str
):
    """Promise: all state is in one database; nothing that matters is kept beside it."""
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        await daemon.store.write(quartets.add, "a task")
        told = await post(http, "one", "two")
        state, events = await get(http, "/state"), await log_of(http)
    if engine_name == "sqlite":
        shutil.copy(settings.state_directory / "coven.db", elsewhere.state_directory)
    async with boot.running(elsewhere, clock) as daemon, visiting(daemon) as http:
        found, log = await get(http, "/state"), await log_of(http)
        kept = (await get(http, "/api/v1/notifications"))["items"]
    lists = ("tasks", "agents", "workflows", "questions")
    assert {name: found[name] for name in lists} == {name: state[name] for name in lists}
    assert sorted(kept, key=lambda row: row["title"]) == told
    assert log[: len(events)] == events


@requirement("U-04")
async def test_a_daemon_at_work_writes_no_file_of_the_older_layout(
    settings: Settings, clock: SystemClock, engine_name: str
):
    """Promise: `.coven` holds the database and what a running daemon needs, and no other state."""
    database = {"coven.db", "coven.db-wal", "coven.db-shm"} if engine_name == "sqlite" else set()
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        await daemon.store.write(quartets.add, "a task")
        await post(http, "one")
        working = {path.name for path in settings.state_directory.iterdir()}
    stopped = {path.name for path in settings.state_directory.iterdir()}
    machine = {"coven.lock", "token", "node", "config.json"}
    assert working == machine | database | {"covend.json", "covend.sock"}
    assert stopped == machine | (database & {"coven.db"})
    assert not working & set(OLD)
