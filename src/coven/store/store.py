"""The store: plain functions in, durable answers out.

`Store.write` runs a function in the next group commit of its project and answers when that commit
is on disk. `Store.read` gives a function one consistent view. Both refuse coroutine functions: a
transaction in which something can wait is a transaction that can hold everybody up.

Deliberately not here: what a row means (the rooms' `records.py`), and HTTP.
"""

import asyncio
import contextlib
import inspect
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar

from coven.core.clock import Clock
from coven.core.errors import CovenError, Kind
from coven.core.ids import DEFAULT_PROJECT, ProjectId
from coven.store import migrations
from coven.store.engine import Engine, StoreUnavailable
from coven.store.feed import Feed
from coven.store.groups import Committed, LinkView, Work
from coven.store.postgres import PostgresEngine, check_url
from coven.store.sqlite import SqliteEngine
from coven.store.transaction import Transaction, View
from coven.store.writing import WAIT_SECONDS, Writing, outcome, take_slot

READ_THREADS = 8
READS_MAX = 1_000
TELL_SECONDS = 0.02

_WAITS = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class MalformedStore(CovenError):
    """{store!r} does not name a store."""

    code = "MALFORMED_STORE"
    kind = Kind.MALFORMED
    remedy = "Say `sqlite`, or a URL such as postgresql://user@host/database."


class _Readers:
    """The threads that read. An executor's futures would cost as much as a short read does."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[tuple[Work, asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._threads: list[threading.Thread] = []
        self._unanswered = 0

    async def submit(self, work: Work) -> None:
        """Wait until a thread has run it; its outcome is in `work` then."""
        caller: asyncio.Future[None] = self._loop.create_future()
        self._unanswered += 1
        if len(self._threads) < min(self._unanswered, READ_THREADS):
            name = f"coven-reader-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        self._asked.put((work, caller))
        await caller

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            work, caller = asked
            if not caller.cancelled():
                try:
                    work.value = work.function(*work.args)
                except Exception as error:  # noqa: BLE001 - a boundary: the caller gets it
                    work.error = error
                except BaseException as error:  # noqa: BLE001 - the same, for what would end us
                    work.error = RuntimeError(f"a reading ended with {type(error).__name__}")
                    work.error.__cause__ = error
            self._loop.call_soon_threadsafe(self._answer, caller)

    def _answer(self, caller: "asyncio.Future[None]") -> None:
        self._unanswered -= 1
        if not caller.done():
            caller.set_result(None)

    async def close(self) -> None:
        """Answer what was asked, then end the threads."""
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)


class _House:
    """What the stores of all projects share: one engine, its threads, one feed."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock
        self.loop = asyncio.get_running_loop()
        self.readers = _Readers()
        self.reading = asyncio.Semaphore(READS_MAX)
        self.closed = False
        self.feed = Feed(lambda project: Store(self, project).read, alone=engine.name == "sqlite")
        self.writing = Writing(engine, self._told)
        self._heads: dict[ProjectId, int] = {}
        self._telling: asyncio.Task[None] | None = None
        engine.listen(self._noticed)

    def _noticed(self, project: ProjectId, seq: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the listener ends too
            self.loop.call_soon_threadsafe(self.feed.noticed, project, seq)

    def _told(self, committed: Committed) -> None:
        self.feed.committed(committed)
        if self.engine.name == "sqlite" or not committed.events:
            return
        self._heads[committed.project] = committed.events[-1].seq
        if self._telling is None:
            self._telling = self.loop.create_task(self._tell())

    async def _tell(self) -> None:
        """Tell other daemons, one notice for many commits."""
        try:
            while self._heads:
                if not self.closed:
                    await asyncio.sleep(TELL_SECONDS)
                heads, self._heads = self._heads, {}
                await asyncio.to_thread(self.engine.tell, heads)
        except CovenError as error:
            # A notice that is lost is made good by the heartbeat's look at the log.
            log.warning("cannot tell other daemons of events: %s", error)
        finally:
            self._telling = None

    async def close(self) -> None:
        """Write what waits, tell what was written, let everything go."""
        self.closed = True
        await self.writing.close()
        await self.feed.close()
        if self._telling is not None:
            await self._telling
        await self.readers.close()
        await asyncio.to_thread(self.engine.close)


class Store:
    """The store, as one project sees it."""

    def __init__(self, house: _House, project: ProjectId) -> None:
        self._house = house
        self.project = project

    @property
    def clock(self) -> Clock:
        """The clock that tests can move."""
        return self._house.clock

    @property
    def engine(self) -> str:
        """`sqlite` or `postgres`."""
        return self._house.engine.name

    @property
    def feed(self) -> Feed:
        """What happens, as it happens."""
        return self._house.feed

    def of(self, project: ProjectId) -> "Store":
        """The same store, as another project sees it."""
        return self if project == self.project else Store(self._house, project)

    async def write(
        self, function: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run the function in a group commit; what it returned or raised, once that is durable."""
        _check(function)
        work = Work(function, args, kwargs)
        await self._house.writing.submit(self.project, work)
        return outcome(work)

    async def read(
        self, function: Callable[Concatenate[View, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run the function on one consistent view of everything that was acknowledged."""
        _check(function)
        house = self._house
        await take_slot(house.reading, WAIT_SECONDS)
        try:
            if house.closed:
                raise StoreUnavailable(reason="it is closed")
            work = Work(self._view, (function, args, kwargs), {})
            await house.readers.submit(work)
            return outcome(work)
        finally:
            house.reading.release()

    def _view(self, function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        with self._house.engine.reading() as (link, now):
            view = LinkView(link, self.project, now)
            try:
                return function(view, *args, **kwargs)
            finally:
                view.end()

    async def backup(self, target: Path) -> int:
        """Write a consistent copy of everything to a new file; its size in bytes."""
        return await asyncio.to_thread(self._house.engine.backup, target)

    async def check(self) -> list[str]:
        """What is wrong with the database: empty when nothing is."""
        return await asyncio.to_thread(self._house.engine.check)

    async def close(self) -> None:
        """Write what waits, end who listens, let the database go."""
        await self._house.close()


def _check(function: Callable[..., Any]) -> None:
    if type(function) is FunctionType and not function.__code__.co_flags & _WAITS:
        return  # nearly always, and this is asked for every transaction
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function!r} is async: a transaction is a plain function")


def make_engine(url: str, *, clock: Clock) -> Engine:
    """The engine that a store URL names: `sqlite:/path/of/coven.db` or `postgresql://…`."""
    if url.startswith("sqlite:"):
        return SqliteEngine(Path(url.removeprefix("sqlite:")).absolute(), clock=clock)
    if url.startswith(("postgresql://", "postgres://")) and check_url(url):
        return PostgresEngine(url, clock=clock)
    # Never the whole of it: what looks like nonsense may hold a password.
    raise MalformedStore(store=f"{url.partition(':')[0]}://…" if "://" in url else "that text")


async def open_store(url: str, *, clock: Clock, rooms: Sequence[str]) -> Store:
    """Open the store, with its schema brought up to date for these rooms."""

    def prepare() -> Engine:
        engine = make_engine(url, clock=clock)
        try:
            migrations.apply(engine, migrations.discover(rooms, engine.name), clock)
        except BaseException:
            engine.close()
            raise
        return engine

    return Store(_House(await asyncio.to_thread(prepare), clock), DEFAULT_PROJECT)
