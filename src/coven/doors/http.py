"""HTTP: how a room makes a router, and how routers become one application.

`build` gives an ASGI application. For each request it checks how the request came
(`doors.arrival`), finds the route, runs it (`doors.endpoint`) and sends what it said, or why not,
in the one shape of `doors.errors`. FastAPI declares the routes and documents them; it does not run
them.

Above stand the rooms' `routes.py` and `daemon`; below only access, the store and core.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import structlog
from fastapi import APIRouter
from fastapi.routing import APIRoute
from prometheus_client.registry import CollectorRegistry

from coven.core.clock import Clock
from coven.core.errors import CovenError, Kind
from coven.doors import arrival as arrivals
from coven.doors import errors, openapi
from coven.doors.access import Access
from coven.doors.answers import JSON, Answer, Ready
from coven.doors.arrival import ClientGone, Receive, Scope, Send
from coven.doors.callers import Needs
from coven.doors.declared import DeclaredRoute, KeylessRoute
from coven.doors.endpoint import Endpoint
from coven.doors.errors import DaemonStopping, Header, MethodNotAllowed, RouteNotFound
from coven.doors.metrics import RequestMetrics
from coven.store import Store

_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"))

log = structlog.get_logger("coven.doors")


def router(prefix: str = "", *, tag: str, claims_keys: bool = True) -> APIRouter:
    """A router for one room. `tag` is the room's word; it groups the routes in the document.

    `claims_keys` is False where no transaction of the routes claims `caller.key`: then the door
    does, and what the routes do must be harmless to do again after a crash.
    """
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=DeclaredRoute if claims_keys else KeylessRoute,
        generate_unique_id_function=openapi.operation_id,
    )


def build(
    routers: Sequence[APIRouter],
    *,
    title: str,
    version: str,
    store: Store,
    access: Access,
    registry: CollectorRegistry,
) -> "Doors":
    """The application that answers at all of these routes, at /openapi.json and at /docs."""
    table = Table()
    needed: list[tuple[APIRoute, Needs | None]] = []
    for route in (route for one in routers for route in one.routes):
        if not isinstance(route, APIRoute):
            raise TypeError(
                f"{route!r} cannot be answered: declare routes with @router.get and so on"
            )
        endpoint = Endpoint(route, access=access, store=store)
        needed.append((route, endpoint.needs))
        for method in route.methods or ():
            table.add(route, method, endpoint)
    document = openapi.Document(needed, title=title, version=version)
    for route, ready in document.pages():
        table.add(route, "GET", ready)
    return Doors(table, access=access, clock=store.clock, metrics=RequestMetrics(registry))


class Table:
    """Where each route is found: by its whole path, or by the number of its parts."""

    def __init__(self) -> None:
        self._fixed: dict[str, _Place] = {}
        self._by_parts: dict[int, list[_Place]] = {}
        self._of_any_length: list[_Place] = []

    def add(self, route: APIRoute, method: str, ready: Ready) -> None:
        """Let `ready` answer `method` at the path of `route`; who answers GET answers HEAD too."""
        place = self._place(route)
        for one in ("GET", "HEAD") if method == "GET" else (method,):
            if one in place.methods:
                raise ValueError(f"two routes answer {one} {route.path_format}")
            place.methods[one] = ready

    def find(self, path: str) -> "tuple[_Place, dict[str, str]] | None":
        """The place at a path, and the parts of the path that are values."""
        fixed = self._fixed.get(path)
        if fixed is not None:
            return fixed, {}
        for places in (self._by_parts.get(path.count("/"), ()), self._of_any_length):
            for place in places:
                match = place.pattern.match(path)
                if match is not None:
                    return place, match.groupdict()
        return None

    def _place(self, route: APIRoute) -> "_Place":
        template = route.path_format
        if not route.param_convertors:
            return self._fixed.setdefault(template, _Place(route))
        if any(":path}" in part for part in route.path.split("/")):
            places = self._of_any_length
        else:
            places = self._by_parts.setdefault(template.count("/"), [])
        for place in places:
            if place.template == template:
                return place
        places.append(_Place(route))
        return places[-1]


class _Place:
    """A path, and who answers which method there."""

    __slots__ = ("methods", "pattern", "template")

    def __init__(self, route: APIRoute) -> None:
        self.template = route.path_format
        self.pattern = route.path_regex
        self.methods: dict[str, Ready] = {}


class Doors:
    """The application: an ASGI callable for the TCP port and the Unix socket alike."""

    def __init__(
        self, table: Table, *, access: Access, clock: Clock, metrics: RequestMetrics
    ) -> None:
        self._table = table
        self._access = access
        self._clock = clock
        self._metrics = metrics
        self._streams: set[asyncio.Event] = set()
        self._is_closing = False

    def close(self) -> None:
        """End every open stream, so that the server can stop; new ones are refused."""
        self._is_closing = True
        for ended in self._streams:
            ended.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = self._clock.monotonic()
        method = scope["method"]
        request_id = arrivals.request_id(scope)
        route = "(none)"
        try:
            try:
                arrival = arrivals.check(scope, receive)
                place, given = self._find(scope["path"])
                route = place.template
                ready = place.methods.get(method)
                if ready is None:
                    raise _not_allowed(place, scope["path"], method)
                answer = await ready.answer(arrival, given)
                if answer.stream is not None and self._is_closing:
                    raise DaemonStopping()
            except CovenError as error:
                if error.kind is Kind.BUG:
                    raise
                answer = _refusal(error)
            except ClientGone:
                return
        except Exception as error:  # noqa: BLE001 - the outermost boundary: a defect is reported here
            _report(error, request_id, method=method, route=route)
            answer = _refusal(CovenError(request_id=request_id.decode()))
        # The number of series must not be the caller's choice.
        counted = method if method in _METHODS else "(other)"
        seconds = self._clock.monotonic() - started
        self._metrics.answered(route, counted, answer.status, seconds=seconds)
        if answer.stream is None or method == "HEAD":
            await _send(answer, request_id, send, without_body=method == "HEAD")
            return
        await self._stream(answer, request_id, route=route, receive=receive, send=send)

    def _find(self, path: str) -> "tuple[_Place, dict[str, str]]":
        found = self._table.find(path)
        if found is None:
            raise RouteNotFound(path=path[:200])
        return found

    async def _stream(
        self, answer: Answer, request_id: bytes, *, route: str, receive: Receive, send: Send
    ) -> None:
        assert answer.stream is not None, "only a stream is streamed"
        ended = asyncio.Event()
        self._streams.add(ended)
        if answer.principal is not None:
            self._access.watch(answer.principal, ended)
        self._metrics.open_streams += 1
        try:
            await send(_start(answer.status, answer.headers, request_id))
            await answer.stream.run(receive, send, ended=ended)
        except Exception as error:  # noqa: BLE001 - the reply has begun: a defect can only be logged
            _report(error, request_id, method="GET", route=route)
        finally:
            self._metrics.open_streams -= 1
            self._streams.discard(ended)
            if answer.principal is not None:
                self._access.unwatch(answer.principal, ended)


def _start(status: int, headers: list[Header], request_id: bytes) -> dict[str, Any]:
    told = [*headers, *_ALWAYS, (b"x-request-id", request_id)]
    return {"type": "http.response.start", "status": status, "headers": told}


async def _send(answer: Answer, request_id: bytes, send: Send, *, without_body: bool) -> None:
    body = answer.body
    start = _start(answer.status, answer.headers, request_id)
    if answer.status != 204 and answer.stream is None:
        start["headers"].append((b"content-length", str(len(body)).encode()))
    await send(start)
    await send({"type": "http.response.body", "body": b"" if without_body else body})


def _refusal(error: CovenError) -> Answer:
    headers = [JSON, *errors.headers_of(error)]
    return Answer(errors.status_of(error), errors.render(error), headers)


def _not_allowed(place: _Place, path: str, method: str) -> MethodNotAllowed:
    allowed = ", ".join(sorted(place.methods))
    return MethodNotAllowed(path=path[:200], method=method[:20], allowed=allowed)


def _report(error: Exception, request_id: bytes, *, method: str, route: str) -> None:
    # A log that cannot be written (a full disk) must not take the reply with it.
    with contextlib.suppress(OSError):
        log.error(
            "request_failed",
            request_id=request_id.decode(),
            method=method,
            route=route,
            exc_info=error,
        )


async def _lifespan(receive: Receive, send: Send) -> None:
    # The daemon opens and closes what the application needs; the server only wants to be told.
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
