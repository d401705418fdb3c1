"""`/events`: a page of what happened, or a stream of what happens, from one kind of cursor."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from pydantic import Field

from coven.doors import http
from coven.doors.callers import Reading
from coven.doors.shapes import InstantText, Limit, Listing, Output
from coven.doors.sse import EventStream, frame
from coven.store import Store, View, events, feed
from coven.store.cursors import Cursor, EventsGone
from coven.store.events import EventPage, Filter
from coven.store.feed import Batch

LIMIT_DEFAULT = 100
_TEXT_MAX = 256

Since = Annotated[
    str | None,
    Query(
        max_length=_TEXT_MAX,
        description="The `id` of an event, `next_cursor` of a page, or a time: answers begin "
        "strictly after it. Without it a page begins at the oldest event, a stream at the next.",
    ),
]
EntityText = Annotated[
    str | None,
    Query(max_length=_TEXT_MAX, description="`task`, `task:<id>`, or an id: only its events."),
]
TypeText = Annotated[
    str | None,
    Query(max_length=_TEXT_MAX, description="A type, or the beginning of types: `task.*`."),
]
LastId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=_TEXT_MAX,
        description="What a stream sends when it reconnects; wins over `since`.",
    ),
]
Accept = Annotated[
    str, Header(description="`text/event-stream` asks for a stream instead of a page.")
]


class EventView(Output):
    """A fact, as it was told in the transaction that made it true."""

    id: str = Field(description="Its place in the log: a cursor.")
    seq: int = Field(description="Its number; without gaps in each project.")
    type: str
    entity: str
    entity_id: str
    timestamp: InstantText
    data: dict[str, Any]


class _Frames:
    """Frames that several streams need at the same moment, rendered once."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str, int, int], bytes] = {}

    def of(self, batch: Batch, wanted: Filter) -> bytes:
        if not batch.items:
            return _heartbeat(batch.cursor)
        if not wanted.everything:
            return _render(batch)
        cursor = batch.cursor
        key = (cursor.epoch, cursor.stream, batch.items[0].seq, cursor.seq)
        rendered = self._latest.get(key)
        if rendered is None:
            if len(self._latest) > 64:
                self._latest.clear()
            rendered = self._latest[key] = _render(batch)
        return rendered


_frames = _Frames()


def routes() -> APIRouter:
    """The one route of the log."""
    router = http.router(tag="events")

    @router.get(
        "/events",
        summary="What happened, or what happens",
        response_model=Listing[EventView],
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def get_events(
        caller: Reading,
        *,
        since: Since = None,
        entity: EntityText = None,
        type: TypeText = None,
        limit: Limit = LIMIT_DEFAULT,
        accept: Accept = "",
        last_event_id: LastId = None,
    ) -> Any:
        wanted = Filter(type=type, entity=entity)
        if "text/event-stream" in accept:
            place = last_event_id or since
            start = await caller.store.read(_start, place)
            return EventStream(stream(caller.store, start, wanted))
        page = await caller.store.read(events.page, since, limit=limit, wanted=wanted)
        return _listing(page)

    return router


def _start(view: View, place: str | None) -> Cursor | EventsGone:
    """Where a stream begins; what cannot be read is refused before the stream begins."""
    if not place:
        return events.end(view)
    try:
        start = events.place(view, place)
    except EventsGone as gone:
        return gone
    if start.seq > events.end(view).seq:
        # A page from there is empty, as a future place is. A stream would stay silent until the log
        # has grown past it, and skip what came before: so it is told, and reads the snapshot.
        return EventsGone(reason="the log is shorter than this place", snapshot=events.SNAPSHOT)
    return start


async def stream(store: Store, start: Cursor | EventsGone, wanted: Filter) -> AsyncIterator[bytes]:
    """Its place, then events and heartbeats; a resync where some are lost."""
    while True:
        if isinstance(start, EventsGone):
            reason = str(start.details["reason"])
            start = await store.read(events.end)
            yield _resync(start, reason)
        else:
            yield frame(
                id=start.render(), event="open", data=json.dumps({"cursor": start.render()})
            )
        try:
            async for batch in store.feed.follow(start, wanted=wanted):
                yield _frames.of(batch, wanted)
        except EventsGone as gone:
            start = gone
        else:
            return


def _resync(end: Cursor, reason: str) -> bytes:
    told = {"snapshot": events.SNAPSHOT, "cursor": end.render(), "reason": reason}
    return frame(id=end.render(), event="resync", data=json.dumps(told))


def _heartbeat(at: Cursor) -> bytes:
    return frame(id=at.render(), event="heartbeat", data=json.dumps({"cursor": at.render()}))


def _render(batch: Batch) -> bytes:
    parts: list[bytes] = []
    for event in batch.items:
        told = feed.as_json(event, batch.cursor)
        data = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
        parts.append(frame(id=told["id"], event=event.type, data=data))
    return b"".join(parts)


def _listing(page: EventPage) -> Listing[EventView]:
    items = [EventView(**feed.as_json(event, page.next_cursor)) for event in page.items]
    return Listing[EventView](
        items=items, next_cursor=page.next_cursor.render(), has_more=page.has_more
    )
