"""Requests and replies: one connection pool, one meaning of failure, retries that are safe.

A request that may have reached the daemon is sent again only where that is harmless: a GET, or a
change that carries an `Idempotency-Key`, which every change made here does. So a reply that was
lost with its connection is asked for again, also from a daemon that was restarted meanwhile. Where
nobody ever answered, nothing is retried: the caller is told at once.

Deliberately not here: what the replies mean (`values`), and streams that last (`events`).
"""

import asyncio
import random
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, cast
from urllib.parse import quote

from coven.client.address import Address, Whereabouts
from coven.client.errors import (
    Busy,
    ConnectionLost,
    DaemonNotRunning,
    MalformedName,
    NoReply,
    SocketForbidden,
    UnreadableReply,
    refusal,
)
from coven.client.wire import httpx
from coven.core import ids
from coven.core.clock import SystemClock
from coven.core.errors import CovenError

Method = Literal["GET", "POST", "DELETE"]
Parameters = Mapping[str, str | int | bool | None]

CONNECT_SECONDS_MAX = 5.0
REPLY_SECONDS_MAX = 60.0
LONG_REPLY_SECONDS_MAX = 3600.0
_PAUSE_SECONDS = (0.05, 1.0)
_clock = SystemClock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the daemon. `key` makes a change safe to repeat; a GET needs none."""

    method: Method
    path: str
    parameters: Parameters | None = None
    body: Any = None
    key: str | None = None
    is_repeatable: bool = True
    reply_seconds_max: float = REPLY_SECONDS_MAX

    @classmethod
    def get(cls, path: str, **parameters: str | int | bool | None) -> "Request":
        """A question that changes nothing."""
        return cls(method="GET", path=path, parameters=parameters)

    @classmethod
    def change(
        cls,
        path: str,
        *,
        body: Any = None,
        method: Method = "POST",
        key: str | None = None,
        reply_seconds_max: float = REPLY_SECONDS_MAX,
    ) -> "Request":
        """A change; without a key of the caller's it gets one of its own."""
        return cls(
            method=method,
            path=path,
            body=body,
            key=key or ids.new(),
            reply_seconds_max=reply_seconds_max,
        )


class Transport:
    """The way to one daemon, wherever it is at the moment."""

    def __init__(self, whereabouts: Whereabouts, *, patience_seconds: float = 10.0) -> None:
        """`patience_seconds` bounds how long a lost request is tried again."""
        self.whereabouts = whereabouts
        self._patience_seconds = patience_seconds
        self._client: httpx.AsyncClient | None = None
        self._retired: list[httpx.AsyncClient] = []
        self._address: Address | None = None
        self._is_settled = False
        self._place = ""

    async def ask(self, request: Request) -> Any:
        """The JSON of the reply, or the error that the daemon answered."""
        give_up_at = _clock.monotonic() + self._patience_seconds
        was_reached = False
        for pause in pauses():
            try:
                return await self._once(request)
            except DaemonNotRunning:
                # Nobody listens. Before the first contact that is the answer; after it the daemon
                # is probably coming back.
                if not was_reached or _clock.monotonic() > give_up_at:
                    raise
            except ConnectionLost:
                if not request.is_repeatable or _clock.monotonic() > give_up_at:
                    raise
            except Busy as error:
                pause = error.retry_after_seconds
                if error.status != 503 or pause is None or _clock.monotonic() + pause > give_up_at:
                    raise
            was_reached = True
            await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    async def stream(
        self, path: str, *, parameters: Parameters, silence_seconds_max: float
    ) -> httpx.Response:
        """An open event stream; the caller reads and closes it."""
        client = await self._opened()
        outgoing = client.build_request(
            "GET",
            path,
            params=_given(parameters),
            headers={"Accept": "text/event-stream", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(CONNECT_SECONDS_MAX, read=silence_seconds_max),
        )
        response = await self._sent(client, outgoing, is_streamed=True)
        media_type = response.headers.get("content-type", "")
        if response.status_code == 200 and media_type.startswith("text/event-stream"):
            return response
        try:
            await response.aread()
        except httpx.TransportError as error:
            raise ConnectionLost(method="GET", path=path) from error
        finally:
            await response.aclose()
        raise _failure(response)

    async def close(self) -> None:
        """Close every connection."""
        clients, self._retired, self._client = [*self._retired, self._client], [], None
        for client in filter(None, clients):
            await client.aclose()

    async def _once(self, request: Request) -> Any:
        client = await self._opened()
        outgoing = client.build_request(
            request.method,
            request.path,
            params=_given(request.parameters or {}),
            json=request.body,
            headers={"Idempotency-Key": request.key} if request.key else None,
            timeout=httpx.Timeout(request.reply_seconds_max, connect=CONNECT_SECONDS_MAX),
        )
        response = await self._sent(client, outgoing, is_streamed=False)
        if not response.is_success:
            raise _failure(response)
        if response.status_code == 204:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise UnreadableReply(problem="the reply is not JSON") from error

    async def _sent(
        self, client: httpx.AsyncClient, outgoing: httpx.Request, *, is_streamed: bool
    ) -> httpx.Response:
        method, path = outgoing.method, outgoing.url.path
        try:
            return await client.send(outgoing, stream=is_streamed)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self._is_settled = False
            if _is_forbidden(error):
                raise SocketForbidden(place=self._place) from error
            raise DaemonNotRunning(place=self._place) from error
        except httpx.ReadTimeout as error:
            seconds = outgoing.extensions["timeout"]["read"]
            raise NoReply(method=method, path=path, seconds=seconds) from error
        except httpx.TransportError as error:
            self._is_settled = False
            raise ConnectionLost(method=method, path=path) from error

    async def _opened(self) -> httpx.AsyncClient:
        # After a failure the address is looked up again: a restarted daemon may have another one.
        if self._client is None or not self._is_settled:
            address = await asyncio.to_thread(self.whereabouts.find)
            if self._client is None or address != self._address:
                opened = await asyncio.to_thread(_client_for, address)
                if self._client is not None:
                    self._retired.append(self._client)  # others may still be reading through it
                self._client, self._address, self._place = opened, address, address.place
            self._is_settled = True
        return self._client


def pauses() -> Iterator[float]:
    """Ever longer seconds to wait before the next attempt, with jitter, without end."""
    shortest, longest = _PAUSE_SECONDS
    pause = shortest
    while True:
        yield pause * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
        pause = min(pause * 2, longest)


def segment(text: str) -> str:
    """Text as one segment of a path, so that an id can never name another route.

    A `/` is refused and not only quoted: servers read a quoted one as if it were plain.
    """
    if text in ("", ".", "..") or "/" in text:
        raise MalformedName(text=text)
    return quote(text, safe="")


def _client_for(address: Address) -> httpx.AsyncClient:
    host = httpx.URL(address.url).host
    is_near = address.socket is not None or host in ("127.0.0.1", "localhost", "::1")
    context = (
        ssl.create_default_context()
        if address.url.startswith("https:")
        # Never used without TLS; loading the machine's certificates would cost every start.
        else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    headers = {"User-Agent": f"coven-client/{_version()}"}
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    socket = str(address.socket) if address.socket else None
    return httpx.AsyncClient(
        base_url=address.url,
        headers=headers,
        transport=httpx.AsyncHTTPTransport(uds=socket, verify=context) if is_near else None,
        verify=context,
        trust_env=not is_near,  # a proxy of the environment is for what is far away
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
    )


def _version() -> str:
    try:
        return version("coven-runtime")
    except PackageNotFoundError:
        return "unknown"


def _given(parameters: Parameters) -> dict[str, str | int]:
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in parameters.items()
        if value is not None
    }


def _is_forbidden(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PermissionError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _failure(response: httpx.Response) -> CovenError:
    unreadable = UnreadableReply(problem=f"{response.request.url.path} gave {response.status_code}")
    try:
        body: Any = response.json()
    except ValueError:
        if response.status_code in (502, 503, 504):  # a gateway that cannot reach the daemon
            request = response.request
            return ConnectionLost(method=request.method, path=request.url.path)
        return unreadable
    error = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or response.is_success:
        return unreadable
    failure = refusal(response.status_code, cast("dict[str, Any]", error))
    if isinstance(failure, Busy):
        after = response.headers.get("retry-after", "")
        failure.retry_after_seconds = float(after) if after.isdecimal() else None
    return failure
