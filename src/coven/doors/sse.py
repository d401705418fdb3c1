"""Server-sent events: a reply that goes on until one side ends it.

A stream is an iterator of frames that somebody else makes. What is added here is how it ends: when
the reader hangs up, when the daemon stops, when the reader's token is revoked, and when the reader
is so slow that a frame cannot be sent for a while. A slow reader loses its connection and nothing
else: the id of the last frame it has is the place from which it reads on. No frame is dropped, and
none is kept for it in memory beyond what the socket holds.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import ClassVar

import structlog

from coven.doors.arrival import Receive, Send
from coven.doors.errors import Header

SEND_SECONDS_MAX = 30.0
_GOODBYE_SECONDS_MAX = 1.0

_LINE_END = re.compile(r"\r\n|\r|\n")
_ONE_LINE = re.compile(r"[^\r\n\x00]*")

log = structlog.get_logger("coven.doors")


def frame(*, data: str, event: str | None = None, id: str | None = None) -> bytes:
    """One event as the wire has it. Line breaks in the data stay line breaks for the reader."""
    lines: list[str] = []
    for name, value in (("id", id), ("event", event)):
        if value is not None:
            if _ONE_LINE.fullmatch(value) is None:
                raise ValueError(f"the {name} of a frame must be one line")
            lines.append(f"{name}: {value}")
    if "\n" in data or "\r" in data:
        lines.extend(f"data: {line}" for line in _LINE_END.split(data))
    else:
        lines.append(f"data: {data}")
    return ("\n".join(lines) + "\n\n").encode()


class EventStream:
    """What a route returns instead of a value to go on talking."""

    headers: ClassVar[tuple[Header, ...]] = (
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),
    )

    def __init__(
        self, frames: AsyncIterator[bytes], *, send_seconds_max: float = SEND_SECONDS_MAX
    ) -> None:
        """`frames` may join several frames into one piece; each piece is sent at once."""
        self._frames = frames
        self._send_seconds_max = send_seconds_max
        self._sending_since: float | None = None
        self._is_stuck = False

    async def run(self, receive: Receive, send: Send, *, ended: asyncio.Event) -> None:
        """Send until one side ends it; `ended` is our side's way to say so."""
        pump = asyncio.create_task(self._pump(send))
        hung_up = asyncio.create_task(_hung_up(receive))
        over = asyncio.create_task(ended.wait())
        unwatch = self._watch(pump)
        try:
            await asyncio.wait((pump, hung_up, over), return_when=asyncio.FIRST_COMPLETED)
            sent_whole = self._sending_since is None
            reader_left = hung_up.done()
        finally:
            unwatch()
            for task in (pump, hung_up, over):
                task.cancel()
            await asyncio.gather(pump, hung_up, over, return_exceptions=True)
            await self._close()
        if not pump.cancelled() and (error := pump.exception()) is not None:
            raise error
        if sent_whole and not self._is_stuck and not reader_left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS_MAX):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        now = asyncio.get_running_loop().time
        async for piece in self._frames:
            self._sending_since = now()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._sending_since = None

    def _watch(self, pump: asyncio.Task[None]) -> Callable[[], None]:
        """End the pump when one piece has waited too long. Looks now and then: sending is cheap."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            nonlocal timer
            since = self._sending_since
            if since is not None and loop.time() - since >= self._send_seconds_max:
                self._is_stuck = True
                log.info("slow_reader_disconnected", waited_seconds=self._send_seconds_max)
                pump.cancel()
            else:
                timer = loop.call_later(self._send_seconds_max / 4, look)

        timer = loop.call_later(self._send_seconds_max / 4, look)
        return lambda: timer.cancel()

    async def _close(self) -> None:
        # The iterator may hold a place in the feed; it is given back now, not at some collection.
        close: Callable[[], Awaitable[None]] | None = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
