"""The room of notifications behind its doors, over a real store."""

from collections.abc import AsyncIterator

import httpx
import pytest
from prometheus_client.registry import CollectorRegistry

from coven.core.clock import SystemClock
from coven.doors import http, tokens
from coven.doors.access import Access
from coven.notifications import routes
from coven.store import Store

OWNER_TOKEN = "coven_of-the-owner"


@pytest.fixture
async def door(store: Store, clock: SystemClock) -> AsyncIterator[httpx.AsyncClient]:
    """The way in for the owner."""
    app = http.build(
        [routes.router],
        title="Coven",
        version="1",
        store=store,
        access=Access(store, clock, owner_hash=tokens.digest(OWNER_TOKEN)),
        registry=CollectorRegistry(),
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1:8765",
        headers={"Authorization": f"Bearer {OWNER_TOKEN}"},
    ) as client:
        yield client
