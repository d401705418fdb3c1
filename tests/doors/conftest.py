"""The doors over a real store, without a daemon: ways in for each kind of caller."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import httpx
import pytest
from prometheus_client.registry import CollectorRegistry

from coven.core.clock import SystemClock
from coven.doors import http, routes, tokens
from coven.doors.access import Access
from coven.doors.http import Doors
from coven.notifications import routes as notifications
from coven.store import Store

OWNER_TOKEN = "coven_of-the-owner"

Door = Callable[..., httpx.AsyncClient]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def access(store: Store, clock: SystemClock) -> Access:
    return Access(store, clock, owner_hash=tokens.digest(OWNER_TOKEN))


@pytest.fixture
def doors(store: Store, access: Access, registry: CollectorRegistry) -> Doors:
    return http.build(
        [notifications.router, routes.router(access)],
        title="Coven",
        version="1",
        store=store,
        access=access,
        registry=registry,
    )


@pytest.fixture
async def door(doors: Doors) -> AsyncIterator[httpx.AsyncClient]:
    """The port of the loopback address, for a caller with the owner's token."""
    async with through_port(doors, OWNER_TOKEN) as client:
        yield client


@pytest.fixture
async def socket_door(doors: Doors) -> AsyncIterator[httpx.AsyncClient]:
    """The Unix socket, for a caller without a token."""
    transport = httpx.ASGITransport(doors, client=cast("Any", None))  # a socket has no peer
    async with httpx.AsyncClient(transport=transport, base_url="http://coven") as client:
        yield client


def through_port(doors: Doors, token: str | None) -> httpx.AsyncClient:
    """The port, for a caller with this token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(doors)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765", headers=headers)
