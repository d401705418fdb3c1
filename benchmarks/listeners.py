"""A program that listens to `/events` on many connections and counts what arrives, cheaply.

It does not parse frames. In each piece that has arrived it counts the events, reads the numbers of
the first and the last, and knows from them whether one is missing or doubled. How late a piece is,
is how old its oldest event is: the time from the event's own timestamp, which is given before the
commit, until here. So no delivery was later than what is told.
"""

import asyncio
import json
import sys
import time
from array import array
from datetime import datetime
from typing import Any

import uvloop

_SEQ = b'"seq":'
_AT = b'"timestamp":"'
_AT_BYTES = 27
_ENDED = b"\n\n"
STARTED = b"started\n"


class Tally:
    """What all connections have seen."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.opened = 0
        self.all_open = asyncio.Event()
        self.delivered = 0
        self.lost = 0
        self.doubled = 0
        self.closed = 0
        self.late = array("d")
        self._times: dict[bytes, float] = {}

    def open_one(self) -> None:
        self.opened += 1
        if self.opened == self.wanted:
            self.all_open.set()

    def happened(self, text: bytes) -> float:
        """When an event happened; many connections ask for the same one."""
        known = self._times.get(text)
        if known is None:
            if len(self._times) > 10_000:
                self._times.clear()
            known = self._times[text] = datetime.fromisoformat(text.decode()).timestamp()
        return known


class Listener(asyncio.Protocol):
    """One connection."""

    def __init__(self, tally: Tally, request: bytes) -> None:
        self._tally = tally
        self._request = request
        self._rest = b""
        self._last = 0
        self._is_open = False

    def connection_made(self, transport: Any) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if self._rest:
            data = self._rest + data
        end = data.rfind(_ENDED) + len(_ENDED)
        if end < len(_ENDED):
            self._rest = data
            return
        self._rest = data[end:]
        if not self._is_open and b"event: open" in data:
            self._is_open = True
            self._tally.open_one()
        count = data.count(_SEQ, 0, end)
        if count:
            self._count(data, end, count, now)

    def _count(self, data: bytes, end: int, count: int, now: float) -> None:
        tally = self._tally
        first = _number(data, data.find(_SEQ))
        last = _number(data, data.rfind(_SEQ, 0, end))
        expected = self._last + 1 if self._last else first
        missing = (first - expected) + (last - first + 1 - count)
        if missing > 0:
            tally.lost += missing
        elif missing < 0:
            tally.doubled -= missing
        self._last = last
        tally.delivered += count
        at = data.find(_AT) + len(_AT)
        tally.late.append(now - tally.happened(data[at : at + _AT_BYTES]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._tally.closed += 1


def _number(data: bytes, at: int) -> int:
    at += len(_SEQ)
    return int(data[at : data.find(b",", at)])


async def listen(told: dict[str, Any]) -> Tally:
    """Listen on all connections until the input ends."""
    loop = asyncio.get_running_loop()
    tally = Tally(told["listeners"])
    request = (
        f"GET /events HTTP/1.1\r\nhost: {told['host']}:{told['port']}\r\n"
        f"authorization: Bearer {told['token']}\r\naccept: text/event-stream\r\n\r\n"
    ).encode()
    for _ in range(told["listeners"]):
        await loop.create_connection(lambda: Listener(tally, request), told["host"], told["port"])
    await tally.all_open.wait()
    sys.stdout.buffer.write(STARTED)
    sys.stdout.buffer.flush()
    await asyncio.to_thread(sys.stdin.buffer.read)
    return tally


def main() -> None:
    told = json.loads(sys.stdin.buffer.readline())
    tally = uvloop.run(listen(told))
    found = {
        name: getattr(tally, name) for name in ("opened", "delivered", "lost", "doubled", "closed")
    }
    sys.stdout.buffer.write(json.dumps(found).encode() + b"\n")
    sys.stdout.buffer.write(tally.late.tobytes())


if __name__ == "__main__":
    main()
