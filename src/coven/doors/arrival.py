"""Arrivals: a request before anybody looks at what it wants, checked for how it came.

These checks need no store and no route: whether the headers make sense, whether the name that the
caller used is ours (a page that rebinds its own name to 127.0.0.1 gives itself away here), whether
a browser sends it for a page that is not ours, and whether it announces too large a body.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from coven.core import ids
from coven.doors.errors import BodyTooLarge, HeadersRefused, HostRefused, OriginRefused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES_MAX = 1024 * 1024
_HEADERS_MAX = 100
_HEADER_BYTES_MAX = 32 * 1024

_SINGLE = frozenset(
    (
        b"host",
        b"origin",
        b"authorization",
        b"content-length",
        b"content-type",
        b"idempotency-key",
        b"x-coven-project",
        b"last-event-id",
    )
)
_LOOPBACK = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class ClientGone(Exception):
    """The caller hung up before it had sent everything; nobody is left to be told."""


@dataclass(slots=True)
class Arrival:
    """A request that may be looked at."""

    scope: Scope
    receive: Receive
    headers: dict[bytes, bytes]
    over_socket: bool

    async def body(self) -> bytes:
        """All of the body, or BodyTooLarge as soon as it is."""
        message = await self.receive()
        if message["type"] != "http.request":
            raise ClientGone()
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            return await self._rest(body)
        if len(body) > BODY_BYTES_MAX:
            raise BodyTooLarge(bytes_limit=BODY_BYTES_MAX)
        return body

    async def _rest(self, first: bytes) -> bytes:
        pieces, size, more = [first], len(first), True
        while more:
            message = await self.receive()
            if message["type"] != "http.request":
                raise ClientGone()
            piece = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            more = message.get("more_body", False)
            # A chunked body announces no length, so it is counted while it comes.
            if size > BODY_BYTES_MAX:
                raise BodyTooLarge(bytes_limit=BODY_BYTES_MAX)
        return b"".join(pieces)


def check(scope: Scope, receive: Receive) -> Arrival:
    """The request, or the refusal that it has earned by the way it came."""
    headers = _headers(scope["headers"])
    over_socket = came_over_socket(scope)
    host = headers.get(b"host", b"")
    if not over_socket and _LOOPBACK.fullmatch(host) is None:
        raise HostRefused(host=_text(host))
    origin = headers.get(b"origin")
    if origin is not None and origin not in (b"http://" + host, b"https://" + host):
        raise OriginRefused(origin=_text(origin))
    length = headers.get(b"content-length")
    if length is not None:
        _check_length(length)
    return Arrival(scope, receive, headers, over_socket)


def came_over_socket(scope: Scope) -> bool:
    """Whether the peer reached the Unix socket; what is not surely so came over the network."""
    server = scope.get("server")
    return server is not None and server[1] is None and scope.get("client") is None


def request_id(scope: Scope) -> bytes:
    """The id by which the log knows this request: the caller's own, if it can be one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return value
    return ids.new().encode()


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    if len(raw) > _HEADERS_MAX:
        raise HeadersRefused(problem=f"there are more than {_HEADERS_MAX}")
    if len(b"".join(chain.from_iterable(raw))) > _HEADER_BYTES_MAX:
        raise HeadersRefused(problem=f"they are longer than {_HEADER_BYTES_MAX} bytes")
    headers = dict(raw)
    if len(headers) != len(raw):
        seen: set[bytes] = set()
        for name, _ in raw:
            if name in seen and name in _SINGLE:
                raise HeadersRefused(problem=f"{_text(name)} is there twice")
            seen.add(name)
    return headers


def _check_length(length: bytes) -> None:
    if not length.isdigit() or len(length) > 18:
        raise HeadersRefused(problem="content-length is not a number")
    if int(length) > BODY_BYTES_MAX:
        raise BodyTooLarge(bytes_limit=BODY_BYTES_MAX)


def _text(raw: bytes) -> str:
    return raw[:200].decode("ascii", "backslashreplace")
