"""One connection: what its peer may cost us before anybody knows who it is.

uvicorn's protocol reads HTTP. This one bounds it: how long a request's head may be, how many
requests may wait behind each other, how long each part may take to come or to be read, and how many
connections there are. What it refuses, it refuses in the one shape of `doors.errors`. Deliberately
not here: what a request may say (`doors.arrival`) and how long its body may be (`doors.bodies`).
"""

import asyncio
import http
import logging
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from coven.core.errors import CovenError, Kind
from coven.doors import errors
from coven.doors.errors import DaemonStopping

log = logging.getLogger(__name__)

HEAD_BYTES_MAX = 64 * 1024
HEAD_SECONDS = 10.0
STALL_SECONDS = 30.0
KEEP_ALIVE_SECONDS = 30
_PIECE_BYTES = 16 * 1024
_PIPELINED_MAX = 4
_LINGER_SECONDS = 2.0
_TOLD_AGAIN_SECONDS = 60.0
_HEAD_END = b"\r\n\r\n"


class MalformedHttp(CovenError):
    """This is not HTTP that can be read."""

    code = "MALFORMED_HTTP"
    kind = Kind.MALFORMED
    remedy = "Speak HTTP/1.1. TLS, HTTP/2 and proxy requests are not understood here."


class HeadTooLarge(CovenError):
    """The head of a request, or its trailers, are longer than {bytes_limit} bytes."""

    code = "HEAD_TOO_LARGE"
    kind = Kind.MALFORMED
    remedy = "Send fewer and shorter headers, and put what is long into the body."


class TooManyConnections(CovenError):
    """There are {limit} connections already."""

    code = "TOO_MANY_CONNECTIONS"
    kind = Kind.UNAVAILABLE
    remedy = "Close idle connections, or use the Unix socket in .coven, which has room of its own."


# RFC 6585 gives it a status of its own inside its kind.
_OWN_STATUS: dict[type[CovenError], int] = {HeadTooLarge: 431}


class Bound:
    """How many connections a socket may have; None for as many as the system gives."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._told_at: float | None = None

    def refusal(self, count: int, now: float) -> TooManyConnections | None:
        """Why one more is too many; the log says so once in a while, not for each."""
        if self.limit is None or count <= self.limit:
            return None
        if self._told_at is None or now - self._told_at > _TOLD_AGAIN_SECONDS:
            log.warning("%d connections are open: more are refused for now", self.limit)
            self._told_at = now
        return TooManyConnections(limit=self.limit)


class _Joining:
    """A transport that sends the head of a reply with what follows: one system call, not two."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._head and data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._send_head)  # where no body follows at once
            return
        head, self._head = self._head, b""
        if not self._transport.is_closing():  # a reply that comes too late is nobody's
            self._transport.write(head + data)

    def _send_head(self) -> None:
        if self._head:
            self.write(b"")

    def write_eof(self) -> None:
        self._send_head()
        self._transport.write_eof()

    def close(self) -> None:
        self._send_head()
        self._transport.close()


class _Flow(FlowControl):
    """uvicorn's flow control, which does not read on while requests are held back."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with bounds."""

    def __init__(self, bound: Bound, **given: Any) -> None:
        super().__init__(**given)
        self._bound = bound
        self._undelivered = 0  # bytes that the parser has read and not made anything of
        self._held = b""  # what waits until fewer requests do
        self._in_message = False  # between the end of a head and the end of its body
        self._is_deaf = False  # refused: what still comes is not read
        self._heard_at = self._sent_at = self.loop.time()
        self._unsent = 0
        # When the head of the next request must be there; None while nothing of it is awaited.
        self._deadline: float | None = self._heard_at + HEAD_SECONDS

    def connection_made(self, transport: Any) -> None:
        super().connection_made(cast("asyncio.Transport", _Joining(transport)))
        self.flow = self._flow = _Flow(self.transport)
        refusal = self._bound.refusal(len(self.connections), self.loop.time())
        if refusal is not None:
            self._is_deaf = True
            self._reply(refusal)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._heard_at = self.loop.time()
        if not self._in_message and self._deadline is None:
            self._deadline = self._heard_at + HEAD_SECONDS
        self._unset_keepalive_if_required()
        if self._held:
            self._held += data
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        start = 0
        # In pieces that end where a head may end: each holds one request at most, and a head that
        # is too long is known before all of it is parsed.
        while start < len(data) and not self._is_deaf:
            if len(self.pipeline) >= _PIPELINED_MAX:
                self._held = data[start:]
                self._flow.held = True
                self.flow.pause_reading()
                return
            found = data.find(_HEAD_END, start, start + _PIECE_BYTES)
            end = found + len(_HEAD_END) if found >= 0 else start + _PIECE_BYTES
            piece = data[start:end]
            self._undelivered += len(piece)
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                data, start = self._without_upgrade() + data[start + upgrade.args[0] :], 0
                continue
            except httptools.HttpParserError:
                self._refuse(MalformedHttp())
            if self._undelivered > HEAD_BYTES_MAX:
                self._refuse(HeadTooLarge(bytes_limit=HEAD_BYTES_MAX))
            start = end

    def _without_upgrade(self) -> bytes:
        """The head that was just read, without the wish to speak another protocol.

        HTTP lets a server ignore that wish, but the parser takes what follows for the other
        protocol and not for a body. So a new parser reads the head again.
        """
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(MalformedHttp())
            return b""
        version = self.parser.get_http_version().encode()
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        lines = [method + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join(lines) + _HEAD_END

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._deadline = self.loop.time() + HEAD_SECONDS

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_message:  # a trailer must not pass for a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._undelivered = 0
        if self.parser.should_upgrade():
            return
        super().on_headers_complete()
        self._deadline = None
        self._in_message = True

    def on_body(self, body: bytes) -> None:
        self._undelivered = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._undelivered = 0
        if not self.parser.should_upgrade():
            self._in_message = False
            super().on_message_complete()

    # What the server and the replies call.

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._held:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._is_deaf or self.transport.is_closing() or not self._held:
            return
        held, self._held = self._held, b""
        self._flow.held = False
        self._parse(held)
        if not self._held and not self.pipeline:
            self.flow.resume_reading()

    def shutdown(self) -> None:
        # A request that is not all here yet has done nothing: no need to wait for the rest.
        if self._is_busy and self._in_message and not self.cycle.response_started:
            self._refuse(DaemonStopping())
        else:
            super().shutdown()

    def end_if_late(self, now: float) -> None:
        """End the connection if its peer does not send what it began, or read what it asked for."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent != self._unsent:
            self._unsent, self._sent_at = unsent, now
        elif now - self._sent_at > STALL_SECONDS:
            self.transport.abort()
            return
        if self.flow.read_paused:  # then it is we who are slow
            self._heard_at = now
            if self._deadline is not None:
                self._deadline = now + HEAD_SECONDS
            return
        stalls = self._in_message and now - self._heard_at > STALL_SECONDS
        if stalls or (self._deadline is not None and now > self._deadline):
            self.transport.close()

    @property
    def _is_busy(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _refuse(self, error: CovenError) -> None:
        """Read nothing more; say why, if what was asked before has been answered, and end."""
        if self._is_deaf:
            return
        self._is_deaf, self._held, self._flow.held = True, b"", False
        if self._is_busy and not self._in_message:
            self._deadline = None
            self.cycle.keep_alive = False  # its reply still goes out, and is the last
            return
        if self._is_busy and (self.pipeline or self.cycle.response_started):
            self.transport.close()
            return
        self._reply(error)
        # To close while the peer is still sending could take the reply away from it.
        self.flow.resume_reading()
        self.transport.write_eof()
        self._deadline, self._in_message = self.loop.time() + _LINGER_SECONDS, False
        if self._is_busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _reply(self, error: CovenError) -> None:
        status = _OWN_STATUS.get(type(error)) or errors.status_of(error)
        body = errors.render(error)
        headers = [
            (b"content-type", b"application/json"),
            *errors.headers_of(error),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}".encode()]
        lines += [name + b": " + value for name, value in headers]
        self.transport.write(b"\r\n".join(lines) + _HEAD_END + body)
