"""What a peer without a token can cost the daemon over a connection: little, and not for long."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from coven.core.clock import SystemClock
from coven.daemon import boot, connections
from coven.daemon.connections import HEAD_BYTES_MAX, Connection
from coven.daemon.daemon import Daemon
from coven.daemon.listening import HOST, Listening
from tests.eventually import eventually

pytestmark = pytest.mark.slow

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def engine_name() -> str:
    """Connections know nothing of stores."""
    return "sqlite"


class Peer:
    """A raw connection to the daemon."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> tuple[int, dict[str, Any]]:
        """The status of the next answer, and what it says."""
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            body = await self.reader.readexactly(length)
        return int(head.split()[1]), json.loads(body)

    async def refusal(self) -> tuple[int, str]:
        """The status and the code of a refusal in the one shape, after which nothing comes."""
        status, body = await self.answer()
        assert set(body["error"]) == {"code", "message", "details", "remedy"}
        assert await self.is_ended()
        return status, body["error"]["code"]

    async def is_ended(self) -> bool:
        async with asyncio.timeout(10):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True

    async def send(self, data: bytes) -> None:
        """Send what the daemon takes."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(5):
                self.writer.write(data)
                await self.writer.drain()


@contextlib.asynccontextmanager
async def connected(daemon: Daemon) -> AsyncIterator[Peer]:
    reader, writer = await asyncio.open_connection(HOST, daemon.listening.port)
    try:
        yield Peer(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@pytest.fixture
async def peer(daemon: Daemon) -> AsyncIterator[Peer]:
    async with connected(daemon) as peer:
        yield peer


def far_side(daemon: Daemon) -> Connection:
    """The daemon's end of the only connection."""
    (connection,) = daemon.listening.connections()
    return connection


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
        b"GET /",
        b"GET / HTTP/1.1\r\nX-",
        CHUNKED + b"1\r\na\r\n0\r\nT: ",
        CHUNKED + b"1;",
    ],
    ids=["header", "url", "name", "trailer", "chunk extension"],
)
async def test_a_part_of_a_request_that_never_ends_is_refused_before_it_is_kept(
    daemon: Daemon, peer: Peer, head: bytes
) -> None:
    await peer.send(head)
    await eventually(lambda: daemon.listening.connections())
    far = far_side(daemon)
    await peer.send(b"a" * (8 * HEAD_BYTES_MAX))
    with contextlib.suppress(asyncio.IncompleteReadError):  # a reply that had begun is cut off
        status, _ = await peer.answer()
        assert status in (431, 404)
    assert await peer.is_ended()
    assert far._is_deaf


async def test_many_small_headers_are_as_much_as_a_long_one(peer: Peer) -> None:
    await peer.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * HEAD_BYTES_MAX)
    assert await peer.refusal() == (431, "HEAD_TOO_LARGE")


async def test_a_head_just_within_the_bound_is_left_to_the_doors(peer: Peer) -> None:
    await peer.send(HEALTH[:-2] + b"X: " + b"a" * (HEAD_BYTES_MAX - 200) + b"\r\n\r\n")
    status, body = await peer.answer()
    assert (status, body["error"]["code"]) == (400, "HEADERS_REFUSED")


async def test_requests_in_a_row_are_answered_in_order_and_few_of_them_are_kept(
    daemon: Daemon, peer: Peer
) -> None:
    count = 500
    sending = asyncio.create_task(peer.send(HEALTH * (count - 1) + b"GET /last HTTP/1.1\r\n\r\n"))
    for _ in range(count - 1):
        assert (await peer.answer())[0] == 200
        assert len(far_side(daemon).pipeline) <= connections._PIPELINED_MAX
    assert (await peer.answer())[0] == 403, "it named no host"
    await sending


async def test_requests_whose_answers_nobody_reads_wait_outside(daemon: Daemon, peer: Peer) -> None:
    await peer.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100_000)
    far = far_side(daemon)
    assert await eventually(lambda: far.flow.read_paused)
    assert len(far.pipeline) <= connections._PIPELINED_MAX
    assert len(far._held) < 1024 * 1024


@pytest.mark.parametrize(
    ("answered", "sent"),
    [(b"", b""), (b"", b"\r\n"), (b"", b"GET /hea"), (b"", HEALTH[:-2]), (HEALTH, b"\r\n")],
)
async def test_who_does_not_finish_a_head_is_let_go(
    daemon: Daemon, peer: Peer, answered: bytes, sent: bytes
) -> None:
    await peer.send(answered)
    far = await eventually(lambda: daemon.listening.connections() and far_side(daemon))
    if answered:
        assert (await peer.answer())[0] == 200
    far.data_received(sent)
    now = far.loop.time()
    far.end_if_late(now + connections.HEAD_SECONDS - 1)
    assert not far.transport.is_closing()
    far.end_if_late(now + connections.HEAD_SECONDS + 1)
    assert await peer.is_ended()


async def test_who_does_not_go_on_with_a_body_is_let_go(
    daemon: Daemon, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"Host: localhost\r\nAuthorization: Bearer {daemon.token}\r\nContent-Length: 9\r\n"
    kind = "Content-Type: application/json\r\n\r\n"
    await peer.send(f"POST /api/v1/notifications HTTP/1.1\r\n{head}{kind}{{".encode())
    far = await eventually(lambda: daemon.listening.connections() and far_side(daemon))
    await eventually(lambda: far._in_message)
    now = far.loop.time()
    far.end_if_late(now + connections.STALL_SECONDS - 1)
    assert not far.transport.is_closing()
    far.end_if_late(now + connections.STALL_SECONDS + 1)
    assert await peer.is_ended()
    assert "Traceback" not in caplog.text


async def test_who_does_not_read_is_let_go(daemon: Daemon, peer: Peer) -> None:
    await peer.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10_000)
    far = far_side(daemon)
    await eventually(lambda: far.flow.write_paused)
    now = far.loop.time()
    far.end_if_late(now)
    far.end_if_late(now + connections.STALL_SECONDS + 1)
    await eventually(lambda: not daemon.listening.connections())


async def test_the_daemon_itself_looks_for_late_peers(
    daemon: Daemon, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.0)
    async with connected(daemon) as other:
        assert await other.is_ended()


async def test_one_connection_too_many_is_told_so_and_the_log_has_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    listening = await asyncio.to_thread(Listening, 0, tmp_path / "covend.sock", connections_max=2)
    await listening.serve(app)
    try:
        kept = [await asyncio.open_connection(HOST, listening.port) for _ in range(2)]
        await eventually(lambda: len(listening.connections()) == 2)
        for _ in range(3):
            one_more = Peer(*await asyncio.open_connection(HOST, listening.port))
            assert await one_more.refusal() == (503, "TOO_MANY_CONNECTIONS")
            one_more.writer.close()
        near, writer = await asyncio.open_unix_connection(tmp_path / "covend.sock")
        writer.write(HEALTH)
        assert (await near.readline()).split()[1] == b"204", "the Unix socket has room of its own"
        for _, each in [*kept, (near, writer)]:
            each.close()
    finally:
        await listening.close()
    told = [line for line in caplog.messages if "connections are open" in line]
    assert len(told) == 1


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"anything/1"])
async def test_a_wish_for_another_protocol_does_not_cost_a_request_its_body(
    daemon: Daemon, peer: Peer, upgrade: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"kind": "k", "title": "the body"}'
    request = (
        b"POST /api/v1/notifications HTTP/1.1\r\nHost: localhost\r\n"
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: " + upgrade + b"\r\n"
        b"Authorization: Bearer " + daemon.token.encode() + b"\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    await peer.send(request + body + HEALTH)
    status, told = await peer.answer()
    assert (status, told["title"]) == (201, "the body")
    assert (await peer.answer())[0] == 200
    far = far_side(daemon)
    for byte in request + body:  # and in whatever pieces it comes
        far.data_received(bytes([byte]))
    assert (await peer.answer())[0] == 201
    assert not [line for line in caplog.messages if "upgrade" in line.lower() or "pip" in line]


@pytest.mark.parametrize(
    "sent",
    [
        b"what is this\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET \xff HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_refused_in_the_one_shape(peer: Peer, sent: bytes) -> None:
    await peer.send(sent)
    assert await peer.refusal() == (400, "MALFORMED_HTTP")


async def test_what_was_asked_before_the_nonsense_is_answered(peer: Peer) -> None:
    await peer.send(HEALTH + b"nonsense\r\n\r\n")
    assert (await peer.answer())[0] == 200
    assert await peer.is_ended()


async def test_a_trailer_does_not_pass_for_a_header(daemon: Daemon, peer: Peer) -> None:
    await peer.send(
        b"POST /shutdown HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\nAuthorization: Bearer " + daemon.token.encode() + b"\r\n\r\n"
    )
    assert (await peer.answer())[0] == 401
    assert not daemon.stopping.is_set()


async def test_half_a_body_does_not_hold_up_the_end(
    settings: Any, clock: SystemClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with boot.running(settings, clock) as daemon:
        reader, writer = await asyncio.open_connection(HOST, daemon.listening.port)
        peer = Peer(reader, writer)
        head = f"Host: localhost\r\nAuthorization: Bearer {daemon.token}\r\nContent-Length: 9\r\n"
        kind = "Content-Type: application/json\r\n\r\n"
        await peer.send(f"POST /api/v1/notifications HTTP/1.1\r\n{head}{kind}{{".encode())
        await eventually(lambda: daemon.listening.connections() and far_side(daemon)._in_message)
        ended = asyncio.create_task(peer.refusal())
    assert await ended == (503, "DAEMON_STOPPING")
    writer.close()
    assert "Traceback" not in caplog.text
    assert "Cancel" not in caplog.text, "nobody had to be waited for"


async def test_a_request_that_does_not_end_is_cancelled_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coven.daemon.listening.STOP_SECONDS", 0)
    asked = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    listening = await asyncio.to_thread(Listening, 0, tmp_path / "covend.sock")
    await listening.serve(app)
    with socket.create_connection((HOST, listening.port)) as slow:
        slow.sendall(HEALTH)
        await asked.wait()
        await listening.close()
    assert "Traceback" not in caplog.text
