"""Upkeep: the daemon's loops, what is kept how long, and the health of the store."""

from collections.abc import Sequence
from typing import Any, cast

from coven.client.errors import UnreadableReply
from coven.client.transport import LONG_REPLY_SECONDS_MAX, Request, Transport, segment
from coven.client.values import (
    Backup,
    Loop,
    RetentionRule,
    StoreCheck,
    read,
)


class Loops:
    """The periodic passes of the daemon."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def list(self) -> Sequence[Loop]:
        """Every loop, and what it says about itself."""
        body = await self._transport.ask(Request.get("/api/v1/loops"))
        return [read(Loop, item) for item in _objects(body, "items")]

    async def run(self, name: str) -> Loop:
        """Run one pass now, and wait for it."""
        request = _long(f"/api/v1/loops/{segment(name)}/run")
        return read(Loop, await self._transport.ask(request))


class Retention:
    """What is kept how long."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def plan(self) -> Sequence[RetentionRule]:
        """What a run would delete now; deletes nothing."""
        return await self._ask("plan")

    async def run(self) -> Sequence[RetentionRule]:
        """Delete what is old enough; the rows that went, rule by rule."""
        return await self._ask("run")

    async def _ask(self, verb: str) -> Sequence[RetentionRule]:
        body = await self._transport.ask(_long(f"/api/v1/retention/{verb}"))
        return [read(RetentionRule, rule) for rule in _objects(body, "rules")]


class Store:
    """The database of the daemon."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def check(self) -> StoreCheck:
        """Read the whole database and say what is wrong with it."""
        return read(StoreCheck, await self._transport.ask(_long("/api/v1/store/check")))

    async def backup(self, name: str | None = None) -> Backup:
        """Copy the embedded store whole, while work goes on, to a file in `.coven/backups`."""
        body = {} if name is None else {"name": name}
        request = _long("/api/v1/store/backup", body=body)
        return read(Backup, await self._transport.ask(request))


def _long(path: str, *, body: Any = None) -> Request:
    return Request.change(path, body=body, reply_seconds_max=LONG_REPLY_SECONDS_MAX)


def _objects(body: Any, name: str) -> list[dict[str, Any]]:
    found = cast("dict[str, Any]", body).get(name) if isinstance(body, dict) else None
    if not isinstance(found, list):
        raise UnreadableReply(problem=f"the reply has no {name}")
    return cast("list[dict[str, Any]]", found)
