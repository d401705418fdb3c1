"""The event log: reading on from a place, finding a time in it, retiring its oldest part.

Events are numbered without gaps in the order of their commits, and their times rise with their
numbers; so a time is found by halving, and the log needs no index but its key. Writing them is the
work of `coven.store.groups`; telling them to those who listen, of `coven.store.feed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from coven.core import clock as clocks
from coven.core.clock import MalformedInstant
from coven.core.ids import ProjectId
from coven.core.pages import PAGE_BYTES_MAX
from coven.store import cursors
from coven.store.cursors import Cursor, EventsGone, MalformedEventCursor
from coven.store.engine import Head
from coven.store.groups import Stored
from coven.store.queries import queries
from coven.store.transaction import Transaction, View

SCANNED_MAX = 5_000
BATCH = 5_000
NO_EPOCH = "00000000"
SNAPSHOT = "/state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events somebody wants; without any word, all of them."""

    type: str | None = None
    """A type, or the beginning of types before a star: `task.*`."""
    entity: str | None = None
    """An entity (`task`), one thing (`task:<id>`), or the id of a thing alone."""

    def matches(self, event: Stored) -> bool:
        if self.type is not None:
            if self.type.endswith("*"):
                if not event.type.startswith(self.type[:-1]):
                    return False
            elif event.type != self.type:
                return False
        return self.entity is None or self.entity in (
            event.entity,
            event.entity_id,
            f"{event.entity}:{event.entity_id}",
        )

    @property
    def everything(self) -> bool:
        """Whether there is nothing to compare."""
        return self.type is None and self.entity is None


ALL = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Some events and the place after them."""

    items: Sequence[Stored]
    next_cursor: Cursor
    has_more: bool


def head(view: View) -> Head:
    """Where the log of this project stands; the beginning, when nothing has happened yet."""
    found = view.first(queries["head"])
    if found is None:
        return Head(epoch=NO_EPOCH, seq=0, floor=0, last_at="1970-01-01T00:00:00.000000Z")
    return Head(**found)


def end(view: View) -> Cursor:
    """The place after the last event."""
    now = head(view)
    return Cursor(now.epoch, view.project, now.seq)


def place(view: View, since: str | None) -> Cursor:
    """The place that `since` names: a cursor, a time, or the beginning. EventsGone when lost."""
    now = head(view)
    if since is None or since == "":
        return Cursor(now.epoch, view.project, now.floor)
    try:
        instant = clocks.parse(since)
    except MalformedInstant:
        return _checked(view, cursors.parse(since), now)
    return Cursor(now.epoch, view.project, last_until(view, instant, now))


def _checked(view: View, asked: Cursor, now: Head) -> Cursor:
    if asked.stream != view.project:
        raise MalformedEventCursor(text=asked.render())
    if asked.epoch != now.epoch:
        # Where nothing had happened yet there was no log to have another epoch: the place before
        # the first event stays that, when the log has begun.
        if asked.epoch == NO_EPOCH and asked.seq == 0 and now.floor == 0:
            return Cursor(now.epoch, view.project, 0)
        raise EventsGone(reason="the log was made anew", snapshot=SNAPSHOT)
    if asked.seq < now.floor:
        raise EventsGone(reason="they are older than the retention", snapshot=SNAPSHOT)
    return asked


def last_until(view: View, instant: datetime, now: Head | None = None) -> int:
    """The number of the last event at or before an instant, not below the floor."""
    now = now or head(view)
    text = clocks.render(instant)
    low, high = now.floor, now.seq
    while low < high:
        middle = (low + high + 1) // 2
        row = view.first(queries["event_time"], seq=middle)
        if row is None or row["timestamp"] <= text:
            low = middle
        else:
            high = middle - 1
    return low


def after(view: View, at: Cursor, limit: int) -> list[Stored]:
    """The next events, without a filter."""
    rows = view.all(queries["events_after"], after=at.seq, limit=limit)
    return [Stored(**row) for row in rows]


def page(view: View, since: str | None, *, limit: int, wanted: Filter = ALL) -> EventPage:
    """A page of events from a place on. A filter looks at a bounded piece of the log at a time."""
    at = place(view, since)
    scan = limit + 1 if wanted.everything else SCANNED_MAX + 1
    found = after(view, at, scan)
    items: list[Stored] = []
    position, weight = at.seq, 0
    for index, event in enumerate(found):
        if index == scan - 1 or len(items) == limit:
            break
        if wanted.matches(event):
            weight += len(event.data) + 300
            if weight > PAGE_BYTES_MAX and items:
                break
            items.append(event)
        position = event.seq
    last = found[-1].seq if found else position
    return EventPage(
        items=items, next_cursor=Cursor(at.epoch, at.stream, position), has_more=last > position
    )


def retirable(view: View, before: datetime) -> int:
    """How many events are older than this."""
    now = head(view)
    return max(last_until(view, before, now) - now.floor, 0)


def retire(tx: Transaction, before: datetime) -> int:
    """Delete the oldest batch of events that are older than this; how many that were."""
    now = head(tx)
    through = min(last_until(tx, before, now), now.floor + BATCH)
    if through <= now.floor:
        return 0
    gone = tx.run(queries["retire_events"], above=now.floor, through=through)
    tx.run(queries["raise_floor"], floor=through)
    return gone


def projects(view: View) -> list[ProjectId]:
    """Every project in which something has happened."""
    return [ProjectId(row["project_id"]) for row in view.all(queries["heads"])]
