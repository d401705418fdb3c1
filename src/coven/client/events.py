"""Events: a page of what happened, or a stream of what happens, each fact once and in order.

`follow` survives everything but a refusal. When the connection breaks, the daemon restarts, or
three heartbeats fail to come, it connects again and goes on after the last event it was given. It
keeps two places: what has arrived, and what the caller has taken; so a caller may give up waiting
(`asyncio.timeout` around `anext`) and come back without losing anything.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from coven.client.errors import (
    ConnectionLost,
    CovenApiError,
    DaemonNotRunning,
    UnreadableReply,
)
from coven.client.sse import Decoder, Frame
from coven.client.transport import Request, Transport, pauses
from coven.client.values import Event, Resync, read, read_page
from coven.client.wire import httpx
from coven.core.errors import CovenError, Kind
from coven.core.pages import Page

PATH = "/events"
HEARTBEAT_SECONDS = 15.0
_HEARTBEATS_MISSED_MAX = 3.5  # the third one is late when the fourth is half due


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events somebody wants; `type` may end in `.*`."""

    entity: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionChanged:
    """The stream was connected, or lost its connection and why; it goes on by itself."""

    is_connected: bool
    cursor: str | None
    reason: str | None = None


class Events:
    """What happened and what happens."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def page(
        self,
        since: str | None = None,
        *,
        entity: str | None = None,
        type: str | None = None,
        limit: int | None = None,
    ) -> Page[Event]:
        """Events after `since` (a cursor or a timestamp), oldest first; `Gone` if not kept."""
        request = Request.get(PATH, since=since, entity=entity, type=type, limit=limit)
        return read_page(Event, await self._transport.ask(request))

    async def list(
        self, since: str | None = None, *, entity: str | None = None, type: str | None = None
    ) -> AsyncIterator[Event]:
        """Every event after `since` that there is now, page by page."""
        while True:
            page = await self.page(since, entity=entity, type=type)
            for event in page.items:
                yield event
            if not page.has_more or page.next_cursor in (None, since):
                return
            since = page.next_cursor

    def follow(
        self,
        since: str | None = None,
        *,
        entity: str | None = None,
        type: str | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        on_connection: Callable[[ConnectionChanged], None] | None = None,
    ) -> "EventStream":
        """Every event after `since` (a cursor or a timestamp), or from now on; never ends.

        It connects with the first `anext`, or with `open()`, which fixes the place where "now" is.
        """
        return EventStream(
            self._transport,
            since=since,
            only=Filter(entity=entity, type=type),
            heartbeat_seconds=heartbeat_seconds,
            on_connection=on_connection,
        )


class EventStream:
    """An endless iterator of `Event`, and of `Resync` where events are not kept any more."""

    def __init__(
        self,
        transport: Transport,
        *,
        since: str | None,
        only: Filter,
        heartbeat_seconds: float,
        on_connection: Callable[[ConnectionChanged], None] | None,
    ) -> None:
        self.cursor = since
        """The place after the last event that was taken: where another stream would go on."""
        self._arrived_at = since
        self._arrived: deque[Event | Resync] = deque()
        self._seq_last: int | None = None
        self._transport = transport
        self._only = only
        self._silence_seconds_max = heartbeat_seconds * _HEARTBEATS_MISSED_MAX
        self._on_connection = on_connection
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._decoder = Decoder()
        self._was_reached = False
        self._is_open = False
        self._was_open = False
        self._is_closed = False
        self._pauses = pauses()

    @property
    def is_connected(self) -> bool:
        """Whether the daemon is heard at the moment."""
        return self._is_open

    async def open(self) -> Self:
        """Connect, and wait until it is known where the stream begins."""
        while not self._is_open and not self._arrived:
            await self._receive()
        return self

    async def aclose(self) -> None:
        """Stop following; taking more ends the iteration."""
        self._is_closed = True
        await self._drop()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event | Resync:
        while not self._arrived:
            if self._is_closed:
                raise StopAsyncIteration
            await self._receive()
        value = self._arrived.popleft()
        self.cursor = value.id if isinstance(value, Event) else value.cursor
        return value

    async def _receive(self) -> None:
        """Take in what comes next; a lost connection is replaced and nothing is lost with it."""
        try:
            chunks = self._chunks or await self._connect()
            await self._take_chunk(chunks)
        except (httpx.TransportError, CovenError) as error:
            await self._drop()
            if not self._will_pass(error):
                raise
            await self._pause(error)
        except BaseException:  # cancelled in the middle: what the connection still holds is unknown
            await self._drop()
            raise

    def _will_pass(self, error: httpx.TransportError | CovenError) -> bool:
        if isinstance(error, DaemonNotRunning):
            return self._was_reached  # it will be back; or it was never there
        if isinstance(error, CovenApiError) and error.status >= 500:
            return True
        return not isinstance(error, CovenError) or error.kind in (Kind.UNAVAILABLE, Kind.LIMITED)

    async def _connect(self) -> AsyncIterator[bytes]:
        self._decoder = Decoder()
        parameters = {
            "since": self._arrived_at,
            "entity": self._only.entity,
            "type": self._only.type,
        }
        try:
            self._response = await self._transport.stream(
                PATH, parameters=parameters, silence_seconds_max=self._silence_seconds_max
            )
        except DaemonNotRunning:
            raise
        except CovenError:
            self._was_reached = True
            raise
        self._was_reached = True
        self._chunks = self._response.aiter_raw()
        return self._chunks

    async def _take_chunk(self, chunks: AsyncIterator[bytes]) -> None:
        try:
            chunk = await anext(chunks)
            for frame in self._decoder.feed(chunk):
                self._take_frame(frame)
        except StopAsyncIteration as error:
            raise ConnectionLost(method="GET", path=PATH) from error
        except ValueError as error:
            raise UnreadableReply(problem="an event is malformed") from error

    def _take_frame(self, frame: Frame) -> None:
        if frame.event in ("open", "resync"):
            self._take_beginning(frame)
        elif "." in frame.event:
            self._pauses = pauses()
            self._take_event(read(Event, json.loads(frame.data)))
        else:  # a heartbeat, or a word that a newer daemon says besides
            self._pauses = pauses()
            self._stand_at(frame.id)

    def _take_beginning(self, frame: Frame) -> None:
        was_open, self._is_open, self._was_open = self._is_open, True, True
        if frame.event == "resync":
            told = {"cursor": frame.id, "snapshot": "/state", **json.loads(frame.data)}
            resync = read(Resync, told)
            self._arrived_at = resync.cursor
            self._seq_last = None  # the numbers may begin again
            self._arrived.append(resync)
        else:
            self._stand_at(frame.id)
        if not was_open:
            self._tell(is_connected=True)

    def _take_event(self, event: Event) -> None:
        self._arrived_at = event.id
        if self._seq_last is not None and event.seq <= self._seq_last:
            return  # a daemon that repeats itself must not make us repeat
        self._seq_last = event.seq
        self._arrived.append(event)

    def _stand_at(self, cursor: str) -> None:
        """There was nothing for us up to here."""
        if cursor:
            self._arrived_at = cursor
            if not self._arrived:
                self.cursor = cursor

    async def _pause(self, error: Exception) -> None:
        if self._was_open:
            self._was_open = False
            self._tell(is_connected=False, reason=_reason(error))
        await asyncio.sleep(next(self._pauses))

    def _tell(self, *, is_connected: bool, reason: str | None = None) -> None:
        if self._on_connection is not None:
            self._on_connection(
                ConnectionChanged(is_connected=is_connected, cursor=self.cursor, reason=reason)
            )

    async def _drop(self) -> None:
        response, self._response = self._response, None
        self._chunks, self._is_open = None, False
        if response is not None:
            await response.aclose()


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.ReadTimeout):
        return "The daemon has gone silent."
    if isinstance(error, httpx.TransportError | ConnectionLost):
        return "The connection broke."
    return error.message if isinstance(error, CovenError) else str(error)
