"""The feed: nobody is skipped, who comes late, reads slowly, or listens while things go wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest

from coven.core.clock import SystemClock
from coven.core.ids import ProjectId
from coven.store import Store, events, feed, open_store
from coven.store.cursors import Cursor, EventsGone
from coven.store.engine import StoreUnavailable
from coven.store.events import Filter
from coven.store.feed import Batch, Feed
from coven.store.groups import Committed, Stored
from tests.eventually import eventually
from tests.store import ledger

P = ProjectId("default")


@pytest.fixture
async def store(store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    opened = await open_store(store_url, clock=clock, rooms=ledger.ROOMS)
    yield opened
    await opened.close()


class Listener:
    """Somebody who listens and remembers what was told."""

    def __init__(self, batches: AsyncIterator[Batch]) -> None:
        self.names: list[str] = []
        self.quiet = 0
        self.place: Cursor | None = None
        self._task = asyncio.create_task(self._listen(batches))

    async def _listen(self, batches: AsyncIterator[Batch]) -> None:
        async for batch in batches:
            self.names += [event.entity_id for event in batch.items]
            self.quiet += not batch.items
            self.place = batch.cursor

    async def heard(self, *names: str) -> None:
        await eventually(lambda: len(self.names) >= len(names))
        assert self.names == list(names)

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_whoever_listens_hears_every_event_once_from_its_own_place(store):
    await store.write(ledger.add_all, ["a", "b"])
    beginning = Cursor((await store.read(events.end)).epoch, P, 0)
    early = Listener(store.feed.follow(beginning))
    late = Listener(store.feed.follow(await store.read(events.end)))
    await asyncio.gather(*(store.write(ledger.add, f"e{n}") for n in range(70)))
    await early.heard("a", "b", *(f"e{n}" for n in range(70)))
    await late.heard(*(f"e{n}" for n in range(70)))
    assert early.place == await store.read(events.end)
    await early.leave()
    await late.leave()


async def test_a_listener_of_a_project_in_which_nothing_ever_happened_hears_the_first_event(store):
    fresh = store.of(ProjectId("fresh"))
    listener = Listener(fresh.feed.follow(await fresh.read(events.end)))
    await fresh.write(ledger.add, "a")
    await listener.heard("a")
    assert listener.place == await fresh.read(events.end)
    await listener.leave()


async def test_a_listener_hears_only_what_it_asked_for_and_its_place_moves_on_all_the_same(store):
    wanted = Filter(type="entry.removed")
    listener = Listener(store.feed.follow(await store.read(events.end), wanted=wanted))
    await store.write(ledger.add_all, [f"e{n}" for n in range(20)])
    await store.write(ledger.remove, "e3")
    await listener.heard("e3")
    assert listener.place == await store.read(events.end)
    await listener.leave()


async def test_a_listener_that_comes_back_continues_where_it_was(store):
    place = await store.read(events.end)
    seen: list[str] = []
    for turn in range(5):
        await store.write(ledger.add_all, [f"{turn}{letter}" for letter in "abc"])
        async with aclosing(store.feed.follow(place)) as batches:
            async for batch in batches:
                seen += [event.entity_id for event in batch.items]
                place = batch.cursor
                break
    assert seen == [f"{turn}{letter}" for turn in range(5) for letter in "abc"]
    assert store.feed._rings == {}


async def test_a_listener_that_does_not_read_holds_up_nobody_and_loses_nothing(store, monkeypatch):
    monkeypatch.setattr(feed, "RING_EVENTS_MAX", 50)
    start = await store.read(events.end)
    slow = store.feed.follow(start)
    first = asyncio.ensure_future(anext(slow))
    await store.write(ledger.add, "e000")
    names = [event.entity_id for event in (await first).items]
    await store.write(ledger.add_all, [f"e{n:03}" for n in range(1, 400)])
    await store.write(ledger.add_all, [f"e{n:03}" for n in range(400, 1200)])
    while len(names) < 1200:
        batch = await anext(slow)
        assert len(batch.items) <= feed.READ_EVENTS
        names += [event.entity_id for event in batch.items]
    assert names == [f"e{n:03}" for n in range(1200)]
    await slow.aclose()


async def test_a_listener_that_retention_has_passed_is_told_so(store, clock):
    start = await store.read(events.end)
    await store.write(ledger.add_all, ["a", "b"])
    clock.move(timedelta(days=2))
    await store.write(events.retire, clock.now() - timedelta(days=1))
    with pytest.raises(EventsGone):
        await anext(store.feed.follow(start))


async def test_closing_the_store_ends_every_listener(store):
    listeners = [Listener(store.feed.follow(await store.read(events.end))) for _ in range(3)]
    await eventually(lambda: store.feed._rings[P].listeners == 3)
    await store.write(ledger.add, "a")
    await store.close()
    await asyncio.wait_for(asyncio.gather(*(each._task for each in listeners)), 5)


# A feed by itself, over a log that the test holds in its hands


class Log:
    """A log whose reads stop at a gate, fail on demand and are counted."""

    def __init__(self) -> None:
        self.stored: list[Stored] = []
        self.epoch = "aaaaaaaa"
        self.floor = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.reads = 0
        self.failures = 0

    def append(self, count: int = 1) -> Committed:
        first = len(self.stored) + 1
        more = [_event(seq) for seq in range(first, first + count)]
        self.stored += more
        return Committed(P, self.epoch, more)

    def read(self, project: ProjectId) -> Callable[..., Awaitable[Any]]:
        async def read(function: Callable[..., Any], *arguments: Any) -> Any:
            answer = function(self, *arguments)
            self.reads += 1
            await self.gate.wait()
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable(reason="the test says so")
            return answer

        return read

    # What `events` asks of a view.

    project = P

    def first(self, statement: Any, **values: Any) -> dict[str, Any]:
        assert statement.name == "head"
        return {
            "epoch": self.epoch, "seq": len(self.stored), "floor": self.floor, "last_at": "",
        }  # fmt: skip

    def all(self, statement: Any, *, after: int, limit: int) -> list[dict[str, Any]]:
        found = [each for each in self.stored if each.seq > max(after, self.floor)][:limit]
        return [{name: getattr(each, name) for name in Stored.__slots__} for each in found]


def _event(seq: int) -> Stored:
    return Stored(
        seq=seq, type="entry.added", entity="entry", entity_id=str(seq), timestamp="", data="{}"
    )


@pytest.fixture
def log() -> Log:
    return Log()


async def test_a_commit_during_a_look_at_the_log_is_not_forgotten(log):
    """The look may have read the log before that commit; nothing else would ever tell it."""
    told = Feed(log.read, alone=True)
    log.append(3)
    listener = Listener(told.follow(Cursor(log.epoch, P, 3)))
    await eventually(lambda: log.reads == 1)
    log.gate.clear()
    told.committed(Committed(P, "", look=True))
    await eventually(lambda: log.reads == 2)
    told.committed(log.append())
    log.gate.set()
    await listener.heard("4")
    await listener.leave()


async def test_a_look_that_fails_is_repeated(log, monkeypatch):
    monkeypatch.setattr(feed, "LOOK_AGAIN_SECONDS", 0.01)
    told = Feed(log.read, alone=True)
    listener = Listener(told.follow(Cursor(log.epoch, P, 0)))
    await eventually(lambda: log.reads == 1)
    log.failures = 2
    log.append()
    told.committed(Committed(P, "", look=True))
    await listener.heard("1")
    await listener.leave()


async def test_commits_between_which_another_daemon_came_are_read_from_the_log(log):
    told = Feed(log.read, alone=False)
    listener = Listener(told.follow(Cursor(log.epoch, P, 0)))
    await eventually(lambda: log.reads == 1)
    first = log.append()
    log.append()
    third = log.append()
    told.committed(Committed(P, log.epoch, first.events + third.events))
    await listener.heard("1", "2", "3")
    log.append(2)
    told.committed(log.append())
    await listener.heard("1", "2", "3", "4", "5", "6")
    await listener.leave()


async def test_a_hole_that_retention_made_is_never_read_over(log):
    """A ring that was filled on both sides of it would number the events wrongly."""
    told = Feed(log.read, alone=False)
    told.committed(log.append(10))
    follower = told.follow(Cursor(log.epoch, P, 10))
    first = asyncio.ensure_future(anext(follower))
    await eventually(lambda: log.reads == 1)
    told.committed(log.append())
    assert [event.seq for event in (await first).items] == [11]
    log.append(100)
    log.floor = 90
    told.noticed(P, 111)
    await eventually(lambda: told._rings[P].last == 111)
    with pytest.raises(EventsGone):
        await anext(follower)
    last = told.follow(Cursor(log.epoch, P, 100))
    assert [event.seq for event in (await anext(last)).items] == list(range(101, 112))


async def test_a_listener_far_behind_does_not_make_the_ring_read_everything(log):
    told = Feed(log.read, alone=False)
    log.append(1)
    listener = Listener(told.follow(Cursor(log.epoch, P, 1)))
    told.committed(log.append(1))
    await listener.heard("2")
    before = log.reads
    log.append(feed.RING_EVENTS_MAX + 5_000)
    told.noticed(P, len(log.stored))
    await eventually(lambda: len(listener.names) == len(log.stored) - 1)
    assert listener.names == [str(seq) for seq in range(2, len(log.stored) + 1)]
    assert log.reads - before < 40
    await listener.leave()


async def test_another_epoch_is_never_taken_for_the_same_log(log):
    told = Feed(log.read, alone=False)
    follower = told.follow(Cursor(log.epoch, P, 0))
    first = asyncio.ensure_future(anext(follower))
    await eventually(lambda: log.reads == 1)
    told.committed(log.append(2))
    await first
    log.epoch, log.stored = "bbbbbbbb", []
    told.committed(log.append(5))
    with pytest.raises(EventsGone):
        await anext(follower)


async def test_a_quiet_connection_shows_a_sign_of_life_with_its_place(log):
    told = Feed(log.read, alone=True, heartbeat_seconds=0.02)
    listener = Listener(told.follow(Cursor(log.epoch, P, 0), wanted=Filter(type="no.such")))
    await eventually(lambda: listener.quiet >= 2)
    told.committed(log.append(3))
    await eventually(lambda: listener.place == Cursor(log.epoch, P, 3))
    assert listener.names == []
    await listener.leave()


async def test_a_forgotten_notice_is_made_good_by_the_heartbeat_where_others_may_commit(log):
    told = Feed(log.read, alone=False, heartbeat_seconds=0.02)
    listener = Listener(told.follow(Cursor(log.epoch, P, 0)))
    await eventually(lambda: log.reads == 1)
    log.append()
    await listener.heard("1")
    await listener.leave()


async def test_an_embedded_store_that_is_quiet_is_not_read(log):
    told = Feed(log.read, alone=True, heartbeat_seconds=0.01)
    told.committed(log.append())
    listener = Listener(told.follow(Cursor(log.epoch, P, 0)))
    await listener.heard("1")
    told.committed(log.append())
    await listener.heard("1", "2")
    before = log.reads
    await eventually(lambda: listener.quiet >= 5)
    assert log.reads == before
    await listener.leave()


async def test_nothing_is_kept_for_a_project_that_nobody_listens_to(log):
    told = Feed(log.read, alone=False)
    told.committed(log.append(5))
    told.noticed(P, 100)
    assert told._rings == {}
    assert log.reads == 0
