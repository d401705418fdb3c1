"""A program that makes HTTP requests cheaply: keep-alive connections on raw transports.

It knows just enough HTTP to find the end of a reply that announces its length. `ask` starts it as
a process of its own, so that making the load costs the server nothing but a core.
"""

import asyncio
import json
import subprocess
import sys
from array import array
from dataclasses import asdict, dataclass, field
from typing import Any

import uvloop

from benchmarks import pace

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(slots=True, kw_only=True)
class Load:
    """What is asked for, by how many connections, for how long, how fast."""

    host: str
    port: int
    method: str
    paths: list[str]
    """Asked for in turn."""
    token: str = ""
    body: str = ""
    connections: int = 1
    seconds: float = 1.0
    per_second: float = 0.0
    """0 is as fast as it goes."""


@dataclass(slots=True, kw_only=True)
class Answered:
    """How it went: the rate, and how long each reply took."""

    per_second: float
    seconds: list[float] = field(repr=False)


def ask(load: Load) -> Answered:
    """Make the load in another process and wait for its report."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(load)).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    rate, _, raw = done.stdout.partition(b"\n")
    seconds = array("d")
    seconds.frombytes(raw)
    return Answered(per_second=float(rate), seconds=seconds.tolist())


class Connection(asyncio.Protocol):
    """One connection: one request at a time, its whole reply counted, refusals raised."""

    def __init__(self) -> None:
        self._transport: Any = None  # uvloop's own kind
        self._waiter: asyncio.Future[bytes] | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        end = buffer.find(_END)
        if end < 0:
            return
        at = buffer.find(_LENGTH, 0, end) + len(_LENGTH)
        length = int(buffer[at : buffer.find(b"\r", at)])
        if len(buffer) < end + len(_END) + length:
            return
        waiter, self._waiter, self._buffer = self._waiter, None, b""
        if waiter is not None and not waiter.done():
            if buffer[9:10] == b"2":
                waiter.set_result(buffer[end + len(_END) :])
            else:
                waiter.set_exception(RuntimeError(buffer[:400].decode()))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError())

    async def send(self, request: bytes) -> bytes:
        """One request; the body of its reply."""
        assert self._transport is not None, "it is connected"
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiter

    def close(self) -> None:
        self._transport.close()


async def connect(load: Load) -> Connection:
    """A new connection to the server."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, load.host, load.port)
    return connection


def render(load: Load, path: str) -> bytes:
    """One request as bytes."""
    lines = [f"{load.method} {path} HTTP/1.1", f"host: {load.host}:{load.port}"]
    if load.token:
        lines.append(f"authorization: Bearer {load.token}")
    if load.body:
        lines += ["content-type: application/json", f"content-length: {len(load.body.encode())}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + load.body).encode()


async def make(load: Load) -> Answered:
    """Make the load in this process."""
    requests = [render(load, path) for path in load.paths]
    idle = [await connect(load) for _ in range(load.connections)]
    turn = 0

    async def one() -> None:
        nonlocal turn
        connection = idle.pop()
        turn += 1
        await connection.send(requests[turn % len(requests)])
        idle.append(connection)

    writers = load.connections
    if load.per_second:
        kept, took = await pace.at_rate(
            one, writers=writers, seconds=load.seconds, per_second=load.per_second
        )
    else:
        kept, took = await pace.flat_out(one, writers=writers, seconds=load.seconds)
    return Answered(per_second=kept, seconds=took)


async def fetch(load: Load) -> Any:
    """One reply, read."""
    connection = await connect(load)
    told = await connection.send(render(load, load.paths[0]))
    connection.close()
    return json.loads(told)


def main() -> None:
    load = Load(**json.load(sys.stdin))
    answered = uvloop.run(make(load))
    sys.stdout.buffer.write(f"{answered.per_second}\n".encode())
    sys.stdout.buffer.write(array("d", answered.seconds).tobytes())


if __name__ == "__main__":
    main()
