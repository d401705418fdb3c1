"""Both engines keep the contract of the store, clause by clause, on a real database."""

from collections.abc import AsyncIterator

import pytest

from coven.core.clock import SystemClock
from coven.store import Store, open_store
from tests.contracts import log_contract
from tests.contracts.store_contract import CLAUSES, Clause
from tests.store.ledger import ROOMS

assert log_contract.__doc__  # which adds its clauses


@pytest.fixture
async def store(store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    opened = await open_store(store_url, clock=clock, rooms=ROOMS)
    yield opened
    await opened.close()


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.__name__)
async def test_every_engine_keeps_the_contract(
    clause: Clause, store: Store, clock: SystemClock
) -> None:
    await clause(store, clock)
