"""The live feed: whoever listens is woken by the commit and reads on from its own place.

Each project has a ring of its latest events, filled by the commits of this process, or from the log
when somebody else committed. A listener whose place is in the ring is served from memory; one that
has fallen behind reads the log until it has caught up. Nobody is ever skipped, and nobody can hold
up a commit: a listener that does not read loses its connection, never its place.

Wake-ups are spaced by `PAUSE_SECONDS`, so a thousand events a second become fifty wake-ups. Where
other daemons may commit, a forgotten notice is made good by one look at the log each heartbeat.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from coven.core.ids import ProjectId
from coven.store import events
from coven.store.cursors import Cursor
from coven.store.events import ALL, Filter
from coven.store.groups import Committed, Stored

RING_EVENTS_MAX = 10_000
READ_EVENTS = 500
PAUSE_SECONDS = 0.02
HEARTBEAT_SECONDS = 15.0

Read = Callable[..., Awaitable[Any]]


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
    behind: bool = False
    """Events were committed that are not in the ring."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waking: bool = False

    def since(self, seq: int) -> list[Stored] | None:
        """The events after this number, or None when the ring does not reach back that far."""
        if not self.events or self.events[0].seq > seq + 1:
            return None
        start = seq + 1 - self.events[0].seq
        return [self.events[index] for index in range(start, min(len(self.events), start + READ_EVENTS))]


class Feed:
    """What happens in one store, as it happens. Belongs to the store's event loop."""

    def __init__(self, read: Callable[[ProjectId], Read], *, alone: bool) -> None:
        self._read = read
        self._alone = alone
        self._rings: dict[ProjectId, _Ring] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = asyncio.Event()

    def committed(self, committed: Committed) -> None:
        """A commit of this process; called in the order of the commits of each project."""
        ring = self._rings.setdefault(committed.project, _Ring())
        if committed.look or not committed.events:
            self._look(committed.project, ring)
            return
        first, last = committed.events[0].seq, committed.events[-1].seq
        if ring.epoch != committed.epoch:
            ring.epoch, ring.last = committed.epoch, 0
            ring.events.clear()
        if ring.behind or (ring.last and first != ring.last + 1):
            self._look(committed.project, ring)
            return
        ring.events.extend(committed.events)
        ring.last = last
        self._wake(ring)

    def noticed(self, project: ProjectId, seq: int) -> None:
        """Another daemon says how far the log has come."""
        ring = self._rings.setdefault(project, _Ring())
        if seq > ring.last:
            self._look(project, ring)

    def _look(self, project: ProjectId, ring: _Ring) -> None:
        """Read what is missing from the log; one look at a time."""
        if ring.behind:
            return
        ring.behind = True
        task = asyncio.get_running_loop().create_task(self._fill(project, ring))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fill(self, project: ProjectId, ring: _Ring) -> None:
        try:
            end: Cursor = await self._read(project)(events.end)
            if ring.epoch != end.epoch or not ring.last:
                ring.epoch, ring.last = end.epoch, max(end.seq - 1, 0)
                ring.events.clear()
            while ring.last < end.seq:
                at = Cursor(end.epoch, project, ring.last)
                found: list[Stored] = await self._read(project)(events.after, at, READ_EVENTS)
                if not found:
                    break
                ring.events.extend(found)
                ring.last = found[-1].seq
        finally:
            ring.behind = False
            self._wake(ring)

    def _wake(self, ring: _Ring) -> None:
        if ring.waking:
            return
        ring.waking = True
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._rouse, ring)

    def _rouse(self, ring: _Ring) -> None:
        ring.waking = False
        ring.changed.set()
        ring.changed = asyncio.Event()

    async def follow(self, start: Cursor, *, wanted: Filter = ALL) -> AsyncIterator[Batch]:
        """Every event after a place, in order, for ever; a batch without events each heartbeat.

        Raises EventsGone when the listener was so slow that the log no longer has its place.
        """
        ring = self._rings.setdefault(start.stream, _Ring())
        at = start
        clock = asyncio.get_running_loop().time
        quiet_since = clock()
        while not self.closed.is_set():
            changed = ring.changed
            found = ring.since(at.seq) if ring.epoch == at.epoch else None
            if found is None:
                found = await self._from_log(at)
            items = found if wanted.everything else [e for e in found if wanted.matches(e)]
            if found:
                at = Cursor(at.epoch, at.stream, found[-1].seq)
            if items or clock() - quiet_since >= HEARTBEAT_SECONDS:
                # A filter that nothing passes must not look like a dead connection.
                yield Batch(items, at)
                quiet_since = clock()
            if not found and not await self._woken(changed, quiet_since + HEARTBEAT_SECONDS):
                if not self._alone:
                    self._look(at.stream, ring)

    async def _from_log(self, at: Cursor) -> list[Stored]:
        return await self._read(at.stream)(_after, at)

    async def _woken(self, changed: asyncio.Event, until: float) -> bool:
        """Whether something happened before the next heartbeat is due."""
        try:
            async with asyncio.timeout_at(until):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """End every `follow` at its next wake-up, which is now."""
        self.closed.set()
        for ring in self._rings.values():
            ring.changed.set()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _after(view: Any, at: Cursor) -> list[Stored]:
    # Checked each time: retention may have passed a slow listener meanwhile.
    place = events.place(view, at.render())
    return events.after(view, place, READ_EVENTS)


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
