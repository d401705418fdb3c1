"""Retention: what is too old is deleted at the start and every hour, and readers are told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise

import httpx
import pytest

from coven import config
from coven.config import Settings
from coven.core import clock as clocks
from coven.core.clock import SystemClock
from coven.daemon import boot
from tests.eventually import eventually
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

HOUR = timedelta(hours=1)


@pytest.fixture
def configured(settings: Settings, engine_name: str, store_url: str) -> Settings:
    """The same directory, whose configuration keeps events for two hours."""
    settings.state_directory.mkdir()
    settings.config_file.write_text(json.dumps({"store": {"eventRetentionHours": 2}}))
    chosen = None if engine_name == "sqlite" else store_url
    return config.load(settings.directory, environment={}, port=0, store=chosen)


@asynccontextmanager
async def visited(settings: Settings, clock: SystemClock) -> AsyncIterator[httpx.AsyncClient]:
    """A life of a daemon, and plain HTTP to it."""
    async with boot.running(settings, clock) as daemon, visiting(daemon) as http:
        await swept(http)
        yield http


async def swept(http: httpx.AsyncClient, *, times: int = 1) -> Json:
    """The loop that cleans up, as soon as it has made so many passes."""

    async def looked() -> Json | None:
        loops = (await get(http, "/api/v1/loops"))["items"]
        (loop,) = [each for each in loops if each["name"] == "expired_records"]
        return loop if loop["passes"] >= times else None

    loop = await eventually(looked)
    assert loop is not None
    return loop


@requirement("U-43", "U-50")
async def test_a_start_deletes_what_became_too_old_while_no_daemon_ran(
    settings: Settings, clock: SystemClock
):
    """Promise: cleanup runs when the daemon starts, without waiting for its hour."""
    async with visited(settings, clock) as http:
        await post(http, "old")
    clock.move(timedelta(hours=25))
    async with visited(settings, clock) as http:
        assert (await swept(http))["last_counts"]["events"] == 3
        await post(http, "new")
        left = await log_of(http)
    assert [event["type"] for event in left] == ["daemon.recovered", "user.notification"]
    assert titles(left) == ["new"]


@requirement("U-43")
async def test_cleanup_runs_again_whenever_an_hour_has_passed(
    configured: Settings, clock: SystemClock
):
    """Promise: every hour, by the clock; nobody has to ask for it."""
    async with visited(configured, clock) as http:
        await post(http, "old")
        passes = [await swept(http)]
        for number in (2, 3):
            clock.move(HOUR)
            passes.append(await swept(http, times=number))
        assert titles(await log_of(http)) == []
    assert [done["passes"] for done in passes] == [1, 2, 3]
    assert [done["last_counts"]["events"] for done in passes] == [0, 0, 2]
    times = [clocks.parse(done["last_run_at"]) for done in passes]
    assert all(HOUR <= after - before < 2 * HOUR for before, after in pairwise(times))
    assert {done["every"] for done in passes} == {"1h"}


@requirement("U-25", "U-50")
async def test_events_older_than_a_day_are_deleted_and_younger_ones_stay(
    http: httpx.AsyncClient, clock: SystemClock
):
    """Promise: 24 hours are kept by default; a plan says what would go and changes nothing."""
    await swept(http)
    await post(http, "a", "b")
    clock.move(timedelta(hours=23, minutes=50))
    await swept(http, times=2)
    await post(http, "c")
    assert (await sweep(http, "run"), titles(await log_of(http))) == (0, ["a", "b", "c"])
    clock.move(timedelta(minutes=20))
    assert (await sweep(http, "plan"), titles(await log_of(http))) == (3, ["a", "b", "c"])
    assert (await sweep(http, "run"), titles(await log_of(http))) == (3, ["c"])
    assert (await sweep(http, "run"), titles(await log_of(http))) == (0, ["c"])


@requirement("U-25", "U-50")
async def test_a_configured_retention_is_used_instead_of_a_day(
    configured: Settings, clock: SystemClock
):
    """Promise: the value of the file decides how long events are kept, in every project."""
    other = {"X-Coven-Project": "another"}
    draft = {"kind": "spec", "title": "in another project"}
    async with visited(configured, clock) as http:
        await post(http, "old")
        assert (await http.post(NOTIFICATIONS, json=draft, headers=other)).status_code == 201
        assert len((await http.get("/events", headers=other)).json()["items"]) == 1
        clock.move(timedelta(hours=1, minutes=50))
        await swept(http, times=2)
        await post(http, "young")
        clock.move(timedelta(minutes=20))
        assert await sweep(http, "run") == 3
        assert titles(await log_of(http)) == ["young"]
        assert (await http.get("/events", headers=other)).json()["items"] == []


@requirement("U-50")
async def test_a_page_below_what_is_kept_is_gone_and_says_where_to_go_on(
    configured: Settings, clock: SystemClock
):
    """Promise: a place in the deleted part is refused, never answered with a part of the truth."""
    async with visited(configured, clock) as http:
        a, b, c = await with_two_deleted(http, clock)
        gone = await http.get("/events", params={"since": a["id"]})
        assert gone.status_code == 410
        error = gone.json()["error"]
        assert (error["code"], error["details"]["snapshot"]) == ("EVENTS_GONE", "/state")
        for place in (b["id"], b["timestamp"], a["timestamp"], "1970-01-01T00:00:00Z"):
            assert (await get(http, "/events", since=place))["items"] == [c], place
        assert (await get(http, "/events"))["items"] == [c]
        assert (await get(http, "/state"))["seq"] == c["seq"]


@requirement("U-50")
async def test_a_stream_below_what_is_kept_begins_with_a_resync(
    configured: Settings, clock: SystemClock
):
    """Promise: a reader that was away too long learns that, and from where it can go on."""
    async with visited(configured, clock) as http:
        a, _, c = await with_two_deleted(http, clock)
        state = await get(http, "/state")
        async with listening(http, last_event_id=a["id"]) as stream:
            frame = await stream.frame()
            assert (frame.event, frame.id) == ("resync", state["cursor"])
            assert (frame.data["snapshot"], frame.data["cursor"]) == ("/state", state["cursor"])
            await post(http, "d")
            assert titles(await stream.told(1)) == ["d"]
        async with listening(http, since=a["timestamp"]) as stream:
            assert (await stream.told(1)) == [c]


async def with_two_deleted(http: httpx.AsyncClient, clock: SystemClock) -> list[Json]:
    """Three notifications of whose events the first two are not kept any more; the events."""
    await swept(http)
    await post(http, "a", "b")
    clock.move(timedelta(hours=1, minutes=50))
    await swept(http, times=2)
    await post(http, "c")
    told = await log_of(http)
    clock.move(timedelta(minutes=20))
    assert await sweep(http, "run") == 3
    return told[-3:]


async def sweep(http: httpx.AsyncClient, verb: str) -> int:
    """How many events a sweep of all rules would delete, or has deleted."""
    answer = await http.post(f"/api/v1/retention/{verb}")
    assert answer.status_code == 200, answer.text
    return sum(rule["rows"] for rule in answer.json()["rules"] if rule["name"] == "events")
