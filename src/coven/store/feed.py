"""The live feed: whoever listens is woken by the commit and reads on from its own place.

Each project that somebody listens to has a ring of its latest events, filled by the commits of this
process, or from the log when somebody else committed. A listener whose place is in the ring is
served from memory; one that has fallen behind reads the log until it has caught up. Nobody is ever
skipped, and nobody can hold up a commit: a listener that does not read loses its connection, never
its place.

Wake-ups are spaced by `PAUSE_SECONDS`, so a thousand events a second become fifty wake-ups. Where
other daemons may commit, a forgotten notice is made good by one look at the log each heartbeat.
"""

import asyncio
import functools
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import events
from coven.store.cursors import Cursor
from coven.store.events import ALL, Filter
from coven.store.groups import Committed, Stored
from coven.store.transaction import View

RING_EVENTS_MAX = 10_000
READ_EVENTS = 500
PAUSE_SECONDS = 0.02
HEARTBEAT_SECONDS = 15.0
LOOK_AGAIN_SECONDS = 1.0

Read = Callable[..., Awaitable[Any]]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some events and the place after them; without events, a sign of life."""

    items: list[Stored]
    cursor: Cursor


@dataclass(slots=True)
class _Ring:
    """The latest events of one project, without a gap."""

    epoch: str | None = None
    events: deque[Stored] = field(default_factory=lambda: deque[Stored](maxlen=RING_EVENTS_MAX))
    last: int = 0
    """The number of the last event that is in the ring; 0 when nothing is known yet."""
    looking: bool = False
    """The log is being read into the ring."""
    stale: bool = False
    """Since that began, more has happened than it may have seen."""
    listeners: int = 0
    changes: int = 0
    """How often the listeners were woken: who saw another number has missed nothing."""
    waiting: "set[asyncio.Future[bool]]" = field(default_factory=set["asyncio.Future[bool]"])
    waking: bool = False
    asked: tuple[int, int, list[Stored]] | None = None
    """The last place that was asked for, where the ring ended then, and the answer."""

    def since(self, seq: int) -> list[Stored] | None:
        """The events after this number, or None when the ring does not reach back that far.

        The answer is shared by all listeners at the same place, which most of them are.
        """
        if not self.events or self.events[0].seq > seq + 1:
            return None
        if self.asked is None or self.asked[:2] != (seq, self.last):
            start = seq + 1 - self.events[0].seq
            end = min(start + READ_EVENTS, len(self.events))
            # By index, not by walking: a deque finds what is near its ends at once.
            self.asked = (seq, self.last, [self.events[at] for at in range(start, end)])
        return self.asked[2]

    def forget(self, epoch: str | None, last: int) -> None:
        """Begin again: the ring knows nothing but where the log stands."""
        self.events.clear()
        self.asked = None
        self.epoch, self.last = epoch, last

    def extend(self, more: list[Stored]) -> None:
        """Add events; those that do not join on to the last one begin a new ring."""
        if self.last and more[0].seq != self.last + 1:
            self.events.clear()
        self.events.extend(more)
        self.last = more[-1].seq


class Feed:
    """What happens in one store, as it happens. Belongs to the store's event loop."""

    def __init__(
        self,
        read: Callable[[ProjectId], Read],
        *,
        alone: bool,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._read = read
        self._alone = alone
        self._heartbeat_seconds = heartbeat_seconds
        self._rings: dict[ProjectId, _Ring] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = asyncio.Event()

    def committed(self, committed: Committed) -> None:
        """A commit of this process; called in the order of the commits of each project."""
        ring = self._rings.get(committed.project)
        if ring is None:
            return  # nobody listens; whoever comes begins with the log
        found = committed.events
        if (
            ring.looking
            or committed.look
            or not found
            or ring.epoch not in (None, committed.epoch)
            or (ring.last and found[0].seq != ring.last + 1)
            or found[-1].seq - found[0].seq + 1 != len(found)  # another daemon came between
        ):
            self._look(committed.project, ring)
            return
        ring.epoch = committed.epoch
        ring.extend(found)
        self._wake(ring)

    def noticed(self, project: ProjectId, seq: int) -> None:
        """Another daemon says how far the log has come."""
        ring = self._rings.get(project)
        if ring is not None and seq > ring.last:
            self._look(project, ring)

    def _look(self, project: ProjectId, ring: _Ring) -> None:
        """Read what is missing from the log; one look at a time, again if it came too early."""
        ring.stale = True
        if ring.looking or self.closed.is_set():
            return
        ring.looking = True
        task = asyncio.get_running_loop().create_task(self._fill(project, ring))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fill(self, project: ProjectId, ring: _Ring) -> None:
        try:
            while ring.stale:
                ring.stale = False
                await self._catch_up(project, ring)
        except CovenError as error:
            if not self.closed.is_set():
                log.warning("cannot read the events of %s: %s", project, error)
            asyncio.get_running_loop().call_later(LOOK_AGAIN_SECONDS, self._look, project, ring)
        finally:
            ring.looking = False
            self._wake(ring)

    async def _catch_up(self, project: ProjectId, ring: _Ring) -> None:
        end: Cursor = await self._read(project)(events.end)
        behind = end.seq - ring.last
        if ring.epoch != end.epoch or not ring.last or not 0 <= behind <= RING_EVENTS_MAX:
            # The listeners read what lies before from the log, each from its own place.
            ring.forget(end.epoch, max(end.seq - 1, 0))
        while ring.last < end.seq:
            at = Cursor(end.epoch, project, ring.last)
            found: list[Stored] = await self._read(project)(events.after, at, READ_EVENTS)
            if not found:
                break
            ring.extend(found)

    def _wake(self, ring: _Ring) -> None:
        if ring.waking:
            return
        ring.waking = True
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._rouse, ring)

    def _rouse(self, ring: _Ring) -> None:
        ring.waking = False
        ring.changes += 1
        for waiter in ring.waiting:
            _settle(waiter, woken=True)
        ring.waiting.clear()

    async def follow(self, start: Cursor, *, wanted: Filter = ALL) -> AsyncIterator[Batch]:
        """Every event after a place, in order, for ever; a batch without events each heartbeat.

        Raises EventsGone when the listener was so slow that the log no longer has its place.
        """
        ring = self._rings.setdefault(start.stream, _Ring())
        ring.listeners += 1
        try:
            async for batch in self._follow(ring, start, wanted):
                yield batch
        finally:
            ring.listeners -= 1
            if not ring.listeners and self._rings.get(start.stream) is ring:
                del self._rings[start.stream]

    async def _follow(self, ring: _Ring, start: Cursor, wanted: Filter) -> AsyncIterator[Batch]:
        at = start
        clock = asyncio.get_running_loop().time
        due = clock() + self._heartbeat_seconds
        while not self.closed.is_set():
            changes = ring.changes
            found = ring.since(at.seq) if ring.epoch == at.epoch else None
            if found is None:
                at, found = await self._read(at.stream)(_after, at)
            items = found if wanted.everything else [e for e in found if wanted.matches(e)]
            if found:
                at = Cursor(at.epoch, at.stream, found[-1].seq)
            if items or clock() >= due:
                # A filter that nothing passes must not look like a dead connection.
                yield Batch(items, at)
                due = clock() + self._heartbeat_seconds
            if not found and not await self._woken(ring, changes, due) and not self._alone:
                self._look(at.stream, ring)

    async def _woken(self, ring: _Ring, changes: int, until: float) -> bool:
        """Whether something happened before the next heartbeat is due."""
        if ring.changes != changes or self.closed.is_set():
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        ring.waiting.add(waiter)
        # One timer and no more: `asyncio.timeout` costs more than the rest of a wake-up.
        timer = loop.call_at(until, functools.partial(_settle, waiter, woken=False))
        try:
            return await waiter
        finally:
            timer.cancel()
            ring.waiting.discard(waiter)

    async def close(self) -> None:
        """End every `follow` at its next wake-up, which is now."""
        self.closed.set()
        for ring in self._rings.values():
            self._rouse(ring)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _settle(waiter: "asyncio.Future[bool]", *, woken: bool) -> None:
    if not waiter.done():
        waiter.set_result(woken)


def _after(view: View, at: Cursor) -> tuple[Cursor, list[Stored]]:
    # Checked each time: retention may have passed a slow listener meanwhile.
    place = events.place(view, at.render())
    return place, events.after(view, place, READ_EVENTS)


def as_json(event: Stored, cursor: Cursor) -> dict[str, Any]:
    """An event as the doors show it."""
    return {
        "id": Cursor(cursor.epoch, cursor.stream, event.seq).render(),
        "seq": event.seq,
        "type": event.type,
        "entity": event.entity,
        "entity_id": event.entity_id,
        "timestamp": event.timestamp,
        "data": json.loads(event.data),
    }
