"""The event-cursor checker: many writers, readers that drop and come back, one truth.

Every committed event must reach every reader exactly once and in order, whatever the writers
delay, whenever a reader leaves and by whichever door it returns: the live feed from a cursor, pages
from a cursor, or pages from the time of the last event that it saw. When retention passes a reader,
it must be told, and go on from the end that it was given; it may never be skipped in silence.
"""

import asyncio
import random
import threading
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coven.core import ids
from coven.core.clock import SystemClock
from coven.core.ids import ProjectId
from coven.store import Store, Transaction, events, open_store
from coven.store.cursors import Cursor, EventsGone
from coven.store.groups import Stored
from tests.machines import profiles
from tests.store import ledger

BOUND_SECONDS = 20.0
_pause = threading.Event()  # nobody sets it: waiting for it is a delay inside a transaction


class Refused(Exception):
    """A write that leaves no event."""


def write(tx: Transaction, names: list[str], delay: float) -> None:
    for name in names:
        tx.emit(ledger.EntryAdded(entity_id=name))
        if delay:
            _pause.wait(delay)
    if not names:
        tx.emit(ledger.EntryAdded(entity_id="never"))
        raise Refused


@dataclass(slots=True)
class Truth:
    """What was acknowledged, by name; the numbers come from the log itself."""

    names: list[str] = field(default_factory=list)
    writing: int = 0


async def writer(stores: list[Store], truth: Truth, chance: random.Random) -> None:
    truth.writing += 1
    for _ in range(chance.randint(3, 25)):
        names = [ids.new() for _ in range(chance.choice([0, 1, 1, 2, 5]))]
        delay = chance.choice([0, 0, 0, 0.001, 0.004])
        outcomes = await asyncio.gather(
            chance.choice(stores).write(write, names, delay), return_exceptions=True
        )
        assert isinstance(outcomes[0], Refused) == (not names)
        truth.names += names
    truth.writing -= 1


@dataclass(slots=True)
class Reader:
    """One reader, and what it saw."""

    store: Store
    chance: random.Random
    place: str
    seen: list[Stored] = field(default_factory=list)
    jumps: list[tuple[int, int]] = field(default_factory=list)
    """From which number to which one it was told to jump."""

    @property
    def position(self) -> int:
        return events.cursors.parse(self.place).seq

    async def read_until(self, end: "asyncio.Task[int]") -> None:
        while not end.done() or self.position < end.result():
            try:
                await self.chance.choice([self.follow, self.follow, self.page, self.page_by_time])()
            except EventsGone:
                gone = self.position
                now = await self.store.read(events.end)
                self.place = now.render()
                self.jumps.append((gone, now.seq))

    def take(self, items: list[Stored], place: Cursor) -> None:
        self.seen += items
        self.place = place.render()

    async def follow(self) -> None:
        batches = self.chance.randint(1, 4)
        start = await self.store.read(events.place, self.place)
        async with aclosing(self.store.feed.follow(start)) as following:
            while batches:
                try:
                    batch = await asyncio.wait_for(anext(following), 0.1)
                except TimeoutError:
                    return
                self.take(batch.items, batch.cursor)
                batches -= 1

    async def page(self) -> None:
        limit = self.chance.choice([1, 3, 50])
        found = await self.store.read(events.page, self.place, limit=limit)
        self.take(list(found.items), found.next_cursor)

    async def page_by_time(self) -> None:
        if not self.seen or self.seen[-1].seq != self.position:
            return
        found = await self.store.read(events.page, self.seen[-1].timestamp, limit=5)
        if found.next_cursor.seq != self.position + len(found.items):
            return  # a time below the floor begins at the floor: only cursors promise to tell
        self.take(list(found.items), found.next_cursor)


async def retire(store: Store, clock: SystemClock, chance: random.Random) -> None:
    for _ in range(3):
        page = await store.read(events.page, None, limit=chance.randint(1, 30))
        if page.items:
            before = events.clocks.parse(page.items[-1].timestamp)
            await store.write(events.retire, before)
        clock.move(timedelta(seconds=chance.choice([-50, 0, 50])))
        await asyncio.to_thread(_pause.wait, 0.01)


async def check(stores: list[Store], clock: SystemClock, plan: dict[str, Any]) -> None:
    chance = random.Random(plan["seed"])
    project = ProjectId(ids.new())
    mine = [store.of(project) for store in stores]
    truth = Truth()
    start = (await mine[0].read(events.place, None)).render()
    readers = [
        Reader(chance.choice(mine), random.Random(chance.random()), start)
        for _ in range(plan["readers"])
    ]

    async def all_written() -> int:
        async with asyncio.TaskGroup() as group:
            for _ in range(plan["writers"]):
                group.create_task(writer(mine, truth, random.Random(chance.random())))
            if plan["retention"]:
                group.create_task(retire(mine[0], clock, chance))
        return (await mine[0].read(events.end)).seq

    async with asyncio.timeout(BOUND_SECONDS):
        end = asyncio.create_task(all_written())
        await asyncio.gather(end, *(reader.read_until(end) for reader in readers))
    assert end.result() == len(truth.names)
    for reader in readers:
        judge(reader, end.result(), truth)
    for store in stores:
        assert not store.feed._rings, "nobody listens any more"


def judge(reader: Reader, end: int, truth: Truth) -> None:
    """Exactly once, in order, and no hole but those that the reader was told of."""
    expected = list(range(1, end + 1))
    for gone, resumed in reader.jumps:
        expected = [seq for seq in expected if not gone < seq <= resumed]
    assert [event.seq for event in reader.seen] == expected
    names = [event.entity_id for event in reader.seen]
    assert len(set(names)) == len(names)
    assert set(names) <= set(truth.names)
    if not reader.jumps:
        assert set(names) == set(truth.names)
    times = [event.timestamp for event in reader.seen]
    assert times == sorted(set(times))


plans = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "writers": st.integers(1, 4),
        "readers": st.integers(1, 4),
        "retention": st.booleans(),
    }
)


def test_every_reader_sees_every_committed_event_once_and_in_order(store_url, engine_name):
    """On PostgreSQL two daemons share the log, and each reads what the other wrote."""
    clock = SystemClock()
    daemons = 1 if engine_name == "sqlite" else 2
    print(f"COVEN_SEED={profiles.SEED}")
    with asyncio.Runner() as runner:
        stores = [
            runner.run(open_store(store_url, clock=clock, rooms=ledger.ROOMS))
            for _ in range(daemons)
        ]

        @profiles.seeded
        @profiles.profile(dev=15, prove=300)
        @given(plan=plans)
        def prove(plan: dict[str, Any]) -> None:
            runner.run(check(stores, clock, plan))

        prove()
        for store in stores:
            runner.run(store.close())
