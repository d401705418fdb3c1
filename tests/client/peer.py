"""A peer: a real server on a real socket that says exactly the bytes it is told to.

For what a working daemon never does at the wanted moment: half a frame, silence, a broken
connection after a request was taken. A script is a list of answers, one for each connection.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Answer = Callable[["Heard", asyncio.StreamWriter], Awaitable[None]]

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n"
)


class Heard:
    """One request as it came in."""

    def __init__(self, head: bytes, body: bytes) -> None:
        lines = head.decode().split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        pairs = (line.partition(": ") for line in lines[1:] if line)
        self.headers = {name.lower(): value for name, _, value in pairs}
        self.body: Any = json.loads(body) if body else None


class Peer:
    """What it heard, and where it is."""

    def __init__(self, answers: list[Answer]) -> None:
        self.heard: list[Heard] = []
        self.url = ""
        self.is_over = asyncio.Event()
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            request = Heard(head, b"")
            length = int(request.headers.get("content-length", "0"))
            request = Heard(head, await reader.readexactly(length))
            number = len(self.heard)
            self.heard.append(request)
            await self._answers[min(number, len(self._answers) - 1)](request, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other side has left
        finally:
            writer.close()


@asynccontextmanager
async def peer(*answers: Answer) -> AsyncIterator[Peer]:
    """A server with one answer for each connection; the last one is repeated."""
    playing = Peer(list(answers))
    server = await asyncio.start_server(playing.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    playing.url = f"http://{host}:{port}"
    try:
        yield playing
    finally:
        playing.is_over.set()
        server.close()


def says(*frames: bytes) -> Answer:
    """A stream of these bytes that then breaks off."""

    async def answer(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + b"".join(frames))
        await writer.drain()

    return answer


def says_and_waits(over: Callable[[], asyncio.Event], *frames: bytes) -> Answer:
    """A stream of these bytes, and then nothing more, with the connection open."""

    async def answer(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + b"".join(frames))
        await writer.drain()
        await over().wait()

    return answer


def replies(status: int, body: Any, **headers: str) -> Answer:
    """A JSON reply."""
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json", "Connection: close"]
    lines += [f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def answer(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        await writer.drain()

    return answer


async def hangs_up(_: Heard, writer: asyncio.StreamWriter) -> None:
    """Takes the request and breaks the connection without a word."""
    writer.close()


def event(seq: int, *, type: str = "task.created", entity: str = "task") -> bytes:
    """The frame of an event; its cursor is `c<seq>`."""
    told = {
        "id": f"c{seq}",
        "seq": seq,
        "type": type,
        "entity": entity,
        "entity_id": f"{entity}-{seq}",
        "timestamp": "2030-01-31T12:00:00.000000Z",
        "data": {"number": seq},
    }
    return frame(type, f"c{seq}", told)


def frame(name: str, cursor: str, told: Any) -> bytes:
    """Any frame."""
    return f"id: {cursor}\nevent: {name}\ndata: {json.dumps(told)}\n\n".encode()


def opening(cursor: str = "c0") -> bytes:
    """The first frame of a stream."""
    return frame("open", cursor, {"cursor": cursor})


def refusal(code: str, message: str = "No.", **details: Any) -> Any:
    """The error shape."""
    told = {"code": code, "message": message, "details": details, "remedy": "Ask nicely."}
    return {"error": told}
