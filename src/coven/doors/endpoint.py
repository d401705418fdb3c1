"""Endpoints: a route of FastAPI, made ready once and then run without FastAPI.

A room declares its routes with FastAPI's own words (`@router.post`, `Annotated`, `Query`), and the
OpenAPI document is FastAPI's reading of them. To run them, FastAPI builds four stacks and a
dependency graph for each request; that costs more than the commit behind it. An endpoint reads the
same signature once, at the start, and afterwards only fills in the values.

It also keeps the promise of `Idempotency-Key` for every route that changes something
(`doors.repeats`), so that a room only has to claim `caller.key` in its first transaction.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import Request, params
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from coven.core import ids
from coven.core.ids import ProjectId
from coven.doors import access, bodies, repeats
from coven.doors.access import Access, Principal
from coven.doors.answers import Answer
from coven.doors.arrival import Arrival
from coven.doors.callers import Caller, Needs
from coven.doors.declared import KeylessRoute
from coven.doors.parameters import HeaderParameters, PathParameters, QueryParameters, Values
from coven.doors.repeats import Repeats
from coven.doors.shapes import Output
from coven.doors.sse import EventStream
from coven.store import Store
from coven.store.idempotency import IdempotencyKey


class Endpoint:
    """One route of a room."""

    def __init__(self, route: APIRoute, *, access: Access, store: Store) -> None:
        self.template = route.path_format
        self._access = access
        self._store = store
        self._call: Callable[..., Any] = route.endpoint
        self._status = route.status_code or 200
        self._mutates = not set(route.methods or ()) <= {"GET", "HEAD"}
        self._signature = _read(route)
        self.needs = self._signature.needs
        self._repeats = Repeats(self.template, claimed_at_door=isinstance(route, KeylessRoute))
        self._reply: TypeAdapter[Any] | None = (
            TypeAdapter(route.response_model) if route.response_model is not None else None
        )

    async def answer(self, arrival: Arrival, given: dict[str, str]) -> Answer:
        """Find out who asks and what for; ask the room; render what it says."""
        wanted = self._signature
        values: Values = {}
        principal: Principal | None = None
        store = self._store
        # Who is not let in is told so before anything is said about what they sent.
        if wanted.needs is not None:
            principal = await self._admit(arrival, wanted.needs)
            if not wanted.needs.whole_daemon:
                store = self._store_of(principal, arrival)
        if wanted.path is not None:
            values = wanted.path.read(given)
        values.update(wanted.query.read(arrival.scope["query_string"]))
        if wanted.headers is not None:
            values.update(wanted.headers.read(arrival.headers))
        if wanted.body is not None:
            values[wanted.body.name] = await wanted.body.read(arrival)
        if wanted.request is not None:
            # A route that reads the request itself also counts what it reads.
            values[wanted.request] = Request(arrival.scope, arrival.receive)
        if principal is None or wanted.caller is None:
            return self._render(await self._call(**values))
        key = self._key(arrival, principal, values)
        values[wanted.caller] = Caller(principal=principal, store=store, key=key)
        if key is not None:
            return await self._repeats.once(key, store, lambda: self._act(values))
        answer = await self._act(values)
        answer.principal = principal
        return answer

    async def _act(self, values: Values) -> Answer:
        return self._render(await self._call(**values))

    async def _admit(self, arrival: Arrival, needed: Needs) -> Principal:
        authorization = arrival.headers.get(b"authorization")
        principal = self._access.recognise(authorization, over_socket=arrival.over_socket)
        if principal is None:
            assert authorization is not None, "only a token needs the store"
            principal = await self._access.look_up(authorization)
        if principal is not access.OWNER:
            home = self._store.project if needed.whole_daemon else None
            access.allow(principal, needed.scope, home=home)
        return principal

    def _store_of(self, principal: Principal, arrival: Arrival) -> Store:
        named = arrival.headers.get(b"x-coven-project")
        if named is None and principal.project is None:
            return self._store
        wanted: ProjectId | None = None
        if named is not None:
            wanted = ids.project(named.decode("latin-1"))
        project = access.project_of(principal, wanted)
        if project is None or project == self._store.project:
            return self._store
        return self._store.of(project)

    def _key(self, arrival: Arrival, principal: Principal, values: Values) -> IdempotencyKey | None:
        if not self._mutates or b"idempotency-key" not in arrival.headers:
            return None
        wanted = self._signature.body
        # The body as it was understood: spaces and the order of fields make no other request.
        body = b"" if wanted is None else wanted.adapter.dump_json(values[wanted.name])
        return repeats.key_of(arrival, principal, body)

    def _render(self, value: Any) -> Answer:
        if value is None:
            return Answer(self._status if self._status != 200 else 204, headers=[])
        if isinstance(value, EventStream):
            return Answer(200, stream=value, headers=list(value.headers), is_kept=False)
        if isinstance(value, Answer):
            return value
        is_kept = not (isinstance(value, Output) and value.holds_secret)
        if self._reply is not None:
            return Answer(self._status, self._reply.dump_json(value), is_kept=is_kept)
        return Answer(self._status, to_json(value), is_kept=is_kept)


@dataclass(slots=True)
class _Body:
    name: str
    adapter: TypeAdapter[Any]
    default: Any

    async def read(self, arrival: Arrival) -> Any:
        raw = await arrival.body()
        if not raw and self.default is not ...:
            return self.default
        return bodies.parse(self.adapter, raw, arrival.headers.get(b"content-type"))


@dataclass(slots=True)
class _Signature:
    query: QueryParameters
    path: PathParameters | None = None
    headers: HeaderParameters | None = None
    body: _Body | None = None
    needs: Needs | None = None
    caller: str | None = None
    request: str | None = None


def _read(route: APIRoute) -> _Signature:
    """What the function of a route wants to be given."""
    hints = get_type_hints(route.endpoint, include_extras=True)
    in_path = set(route.param_convertors)
    path: dict[str, Any] = {}
    query: dict[str, tuple[Any, Any]] = {}
    headers: dict[str, tuple[Any, Any]] = {}
    signature = _Signature(query=QueryParameters({}))
    for name, parameter in inspect.signature(route.endpoint).parameters.items():
        annotation = hints[name]
        default = ... if parameter.default is parameter.empty else parameter.default
        mark = _mark(annotation)
        if isinstance(mark, params.Depends):
            signature.needs, signature.caller = _needs(mark, route), name
        elif annotation is Request:
            signature.request = name
        elif name in in_path:
            path[name] = annotation
        elif isinstance(mark, params.Header):
            headers[name] = (annotation, default)
        elif _is_body(annotation):
            signature.body = _Body(name, TypeAdapter(annotation), default)
        else:
            query[name] = (annotation, default)
    signature.query = QueryParameters(query)
    signature.path = PathParameters(path) if path else None
    signature.headers = HeaderParameters(headers) if headers else None
    return signature


def _mark(annotation: Any) -> object:
    if get_origin(annotation) is Annotated:
        for mark in reversed(get_args(annotation)[1:]):
            if isinstance(mark, params.Depends | params.Header):
                return mark
    return None


def _needs(depends: params.Depends, route: APIRoute) -> Needs:
    if not isinstance(depends.dependency, Needs):
        raise TypeError(f"{route.path_format}: a route may depend on a Caller and nothing else")
    return depends.dependency


def _is_body(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    candidates = get_args(annotation) or (annotation,)
    return any(isinstance(one, type) and issubclass(one, BaseModel) for one in candidates)
