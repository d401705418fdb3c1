"""Events: written with the fact, told after it, read on from any place without gap or double."""

import asyncio
import contextlib
import json
import random
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from coven import Coven
from coven.client import Mirror
from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from coven.daemon.rooms import ROOMS
from coven.store import open_store
from tests.cli.program import running
from tests.eventually import eventually
from tests.faults.harness import RealDaemon, real_daemon
from tests.spec import quartets
from tests.spec.manifest import requirement
from tests.spec.visitors import (
    NOTIFICATIONS,
    Json,
    get,
    listening,
    log_of,
    post,
    titles,
    visiting,
)
from tests.upgrades import old_stores

LISTS = ("tasks", "agents", "workflows", "questions")
BEGINNING = "1970-01-01T00:00:00.000000Z"


@pytest.fixture
def killable(project: Path, engine_name: str, store_url: str) -> Iterator[RealDaemon]:
    """A daemon in a process of its own, in the directory of the other fixtures."""
    store = "sqlite" if engine_name == "sqlite" else store_url
    with real_daemon(project, store) as daemon:
        yield daemon


@requirement("U-24")
async def test_every_event_is_a_row_of_the_events_bucket_and_outlives_the_daemon(
    settings: Settings, clock: SystemClock
):
    """Promise: events are kept in the store, not only sent to those who happen to listen."""
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        made = await post(http, "one", "two")
        await http.post(f"{NOTIFICATIONS}/{made[0]['id']}/read")
        told = await log_of(http)
    assert [event["type"] for event in told] == [
        "daemon.recovered",
        "user.notification",
        "user.notification",
        "notification.read",
    ]
    rows = {row["seq"]: row for row in old_stores.rows(settings.store_url)["events"]}
    for event in told:
        row = rows[event["seq"]]
        assert {name: row[name] for name in ("type", "entity", "entity_id")} == {
            name: event[name] for name in ("type", "entity", "entity_id")
        }
        assert (row["data"] if isinstance(row["data"], dict) else json.loads(row["data"])) == (
            event["data"]
        )
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        assert (await log_of(http))[: len(told)] == told


@requirement("U-26", "U-27")
async def test_a_reader_that_was_cut_off_asks_with_its_last_timestamp_for_what_it_missed(
    http: httpx.AsyncClient,
):
    """Promise: `since` a timestamp is strictly after it, in order, and nothing is left out."""
    async with listening(http) as stream:
        await post(http, "a", "b")
        last = (await stream.told(2))[-1]
    await post(http, "c", "d", "e")
    missed = await get(http, "/events", since=last["timestamp"])
    assert titles(missed["items"]) == ["c", "d", "e"]
    assert [event["seq"] for event in missed["items"]] == [last["seq"] + n for n in (1, 2, 3)]
    assert (await get(http, "/events", since=missed["next_cursor"]))["items"] == []
    assert (await get(http, "/events", since=missed["items"][-1]["timestamp"]))["items"] == []
    assert (await get(http, "/events", since="2999-01-01T00:00:00Z"))["items"] == []


@requirement("U-26", "U-27")
async def test_the_timestamps_of_events_are_unique_and_rise_with_their_numbers(
    daemon: Daemon, http: httpx.AsyncClient
):
    """Promise: a timestamp is a place, also when many events are committed in one instant."""
    await asyncio.gather(*(daemon.store.write(quartets.add, f"{n}") for n in range(50)))
    told = await log_of(http)
    assert len(told) == 51
    assert all(a["timestamp"] < b["timestamp"] for a, b in pairwise(told))
    for event in random.Random(7).sample(told, 8):
        after = await get(http, "/events", since=event["timestamp"], limit=500)
        assert after["items"] == told[event["seq"] :]


@requirement("U-27")
@pytest.mark.parametrize("header", [True, False], ids=["Last-Event-ID", "since"])
async def test_a_stream_that_comes_back_goes_on_after_the_last_frame_it_had(
    http: httpx.AsyncClient, header: bool
):
    """Promise: whoever names its last frame gets what it missed first, then what happens."""
    async with listening(http) as stream:
        place = (await stream.frame()).id
    await post(http, "a", "b")
    named = {"last_event_id" if header else "since": place}
    async with listening(http, **named) as stream:
        missed = await stream.told(2)
        await post(http, "c")
        live = await stream.told(1)
    assert titles(missed + live) == ["a", "b", "c"]
    assert [event["seq"] for event in missed + live] == [
        missed[0]["seq"] + number for number in range(3)
    ]


@requirement("U-27", "U-30")
async def test_readers_that_drop_and_come_back_get_every_event_once_and_in_order(
    daemon: Daemon, http: httpx.AsyncClient
):
    """Promise: order preserved, none missing, none doubled, whoever writes at the same time."""
    seed = secrets.randbelow(10**9)
    print(f"seed {seed}")
    chance = random.Random(seed)
    end = 1 + 4 * 25

    async def write(number: int) -> None:
        for each in range(25):
            await daemon.store.write(quartets.add, f"{number}-{each}")

    async def read(chance: random.Random) -> list[Json]:
        found: list[Json] = []
        while len(found) < end:
            place: dict[str, Any] = {"since": BEGINNING}
            if found:
                name = chance.choice(["timestamp", "id"])
                place = {"since": found[-1][name]}
            async with listening(http, **place) as stream:
                found += await stream.told(min(chance.randint(1, 40), end - len(found)))
        return found

    readers = [read(random.Random(chance.random())) for _ in range(3)]
    *stories, _, _, _, _ = await asyncio.gather(*readers, *(write(number) for number in range(4)))
    whole = await log_of(http)
    assert [event["seq"] for event in whole] == list(range(1, end + 1))
    assert all(story == whole for story in stories)


@requirement("U-30")
async def test_nobody_is_told_an_event_that_a_replay_lacks(daemon: Daemon, http: httpx.AsyncClient):
    """Promise: whatever a stream says can be asked for again at that moment."""
    async with listening(http) as stream:
        for number in range(8):
            write = asyncio.create_task(daemon.store.write(quartets.add, f"{number}"))
            (told,) = await stream.told(1)
            replay = await get(http, "/events", since=told["timestamp"], limit=1)
            assert replay["items"] == []
            kept = await log_of(http)
            assert kept[-1] == told
            await write


@requirement("U-24", "U-30")
@pytest.mark.fault
@pytest.mark.parametrize(
    ("point", "survives"), [("store.commit.after", True), ("store.commit.before", False)]
)
async def test_a_kill_around_a_commit_neither_loses_an_event_nor_tells_one_that_never_was(
    killable: RealDaemon, settings: Settings, clock: SystemClock, point: str, survives: bool
):
    """Promise: stored before it is broadcast, and broadcast to everybody once it is stored."""
    assert killable.start(failpoints=f"{point}=kill@8"), killable.output
    async with killable.connect() as http, listening(http) as stream:
        seen, answered = [(await stream.frame()).id], list[str]()
        with contextlib.suppress(httpx.HTTPError):
            while len(answered) < 50:
                await post(http, f"{len(answered)}")
                answered.append(f"{len(answered)}")
                (told,) = await stream.told(1)
                seen.append(told["id"])
    assert await eventually(lambda: killable.is_dead)
    in_flight = [f"{len(answered)}"] if survives else []
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        whole = await log_of(http)
        assert titles(whole) == answered + in_flight
        async with listening(http, last_event_id=seen[-1]) as stream:
            assert titles(await stream.told(len(in_flight) + 1)) == in_flight
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert 1 < len(answered) == len(seen) - 1


@requirement("U-28")
async def test_the_cache_of_a_client_is_right_again_after_the_daemon_was_away(
    settings: Settings, clock: SystemClock
):
    """Promise: what happened while the connection was lost is in the cache when it is back."""
    async with Coven(directory=settings.directory) as client, AsyncExitStack() as kept:
        async with boot.running(settings, clock) as daemon:
            tasks = {await daemon.store.write(quartets.add, "before")}
            mirror = await kept.enter_async_context(client.mirror())
            assert _tasks(mirror) == tasks
            tasks.add(await daemon.store.write(quartets.add, "while it listens"))
            await eventually(lambda: _tasks(mirror) == tasks)
        tasks |= await happening_unseen(settings, clock)
        assert _tasks(mirror) != tasks
        async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
            now = await get(http, "/state")
            cached = await asyncio.wait_for(mirror.reached(now["seq"]), 10)
            assert quartets.tasks_of(now)["tasks"] == tasks
            assert all(list(getattr(cached, name)) == now[name] for name in LISTS)


@requirement("U-27", "U-30")
@pytest.mark.fault
async def test_a_person_who_watches_sees_every_event_once_over_a_restart(
    settings: Settings, clock: SystemClock
):
    """Promise: what is shown to people after a lost connection is what has happened."""
    async with AsyncExitStack() as kept:
        async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
            place = (await get(http, "/state"))["cursor"]
            watch = await kept.enter_async_context(
                running("watch", "--json", within=settings.directory)
            )
            assert (await watch.aside()).startswith("Connected")
            await post(http, "before")
            shown = [json.loads(await watch.line())]
        await happening_unseen(settings, clock)
        async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
            await post(http, "after")
            whole = await log_of(http, since=place)
            while len(shown) < len(whole):
                shown.append(json.loads(await watch.line()))
    assert shown == whole
    assert titles(whole) == ["before", "after"]


async def happening_unseen(settings: Settings, clock: SystemClock) -> set[str]:
    """New tasks that come into being while no daemon runs; their ids."""
    store = await open_store(settings.store_url, clock=clock, rooms=ROOMS)
    try:
        return {await store.write(quartets.add, f"unseen {number}") for number in range(3)}
    finally:
        await store.close()


def _tasks(mirror: Mirror) -> set[str]:
    return {task["id"] for task in mirror.state.tasks}
