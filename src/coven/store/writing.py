"""Who writes when: the queue between the event loop and the threads that commit.

All bookkeeping happens on the event loop, so it needs no lock: each project has a line of waiting
functions, and at most one group of a project is being written at a time. While it is, the next
group gathers; that is what makes group commit pay without ever waiting on purpose. Threads take
whole groups from one queue and hand outcomes back in one wake-up of the loop.

The line is bounded. A caller who finds it full waits a while and is then told so: back-pressure,
not memory, absorbs a flood.
"""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import groups
from coven.store.engine import Engine, OutcomeUnknown, StoreBusy, StoreUnavailable, Writer
from coven.store.groups import Committed, Work

log = logging.getLogger(__name__)

WAITING_MAX = 1_000
WAIT_SECONDS = 5.0


@dataclass(slots=True)
class _Line:
    """The functions of one project that wait, each with the future of its caller."""

    waiting: deque[tuple[Work, "asyncio.Future[None]"]] = field(
        default_factory=deque[tuple[Work, "asyncio.Future[None]"]]
    )
    writing: bool = False
    planned: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    project: ProjectId
    works: list[Work]
    callers: "list[asyncio.Future[None]]"


class Writing:
    """The writers of a store. Belongs to the event loop that made it."""

    def __init__(
        self,
        engine: Engine,
        told: Callable[[Committed], None],
        *,
        waiting_max: int = WAITING_MAX,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._engine = engine
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._lines: dict[ProjectId, _Line] = {}
        self._slots = asyncio.Semaphore(waiting_max)
        self._wait_seconds = wait_seconds
        self._unfinished = 0
        self._finished = asyncio.Event()
        self._finished.set()
        self._groups: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"coven-writer-{number}", daemon=True)
            for number in range(engine.writers)
        ]
        for thread in self._threads:
            thread.start()

    async def submit(self, project: ProjectId, work: Work) -> None:
        """Wait until the function's outcome is durable; it is in `work` then."""
        if self._closed:
            raise StoreUnavailable(reason="it is closed")
        await take_slot(self._slots, self._wait_seconds)
        if self._closed:
            self._slots.release()
            raise StoreUnavailable(reason="it is closed")
        self._unfinished += 1
        self._finished.clear()
        caller: asyncio.Future[None] = self._loop.create_future()
        line = self._lines.setdefault(project, _Line())
        line.waiting.append((work, caller))
        self._plan(project, line)
        # A caller that is cancelled stops waiting, not writing: the outcome is then unknown to it.
        await caller

    def _plan(self, project: ProjectId, line: _Line) -> None:
        if line.waiting and not line.writing and not line.planned:
            line.planned = True
            # Not now but after the callbacks that are due: those may join the group.
            self._loop.call_soon(self._start, project, line)

    def _start(self, project: ProjectId, line: _Line) -> None:
        line.planned = False
        line.writing = True
        taken = [line.waiting.popleft() for _ in range(min(len(line.waiting), groups.GROUP_MAX))]
        self._groups.put(_Group(project, [work for work, _ in taken], [who for _, who in taken]))

    def _work(self) -> None:
        """A writer thread: one connection, one group after the other."""
        writer: Writer | None = None
        while (group := self._groups.get()) is not None:
            try:
                writer = writer or self._engine.writer()
                committed = groups.write(writer, group.project, group.works)
            except BaseException as error:  # noqa: BLE001 - a boundary: the callers get the error
                committed = _failed(group, error)
                if writer is not None:
                    _give_up(writer)
                    writer = None
            self._loop.call_soon_threadsafe(self._finish, group, committed)
        if writer is not None:
            _give_up(writer)

    def _finish(self, group: _Group, committed: Committed) -> None:
        line = self._lines[group.project]
        line.writing = False
        self._unfinished -= len(group.callers)
        if not self._unfinished:
            self._finished.set()
        for caller in group.callers:
            self._slots.release()
            if not caller.done():
                caller.set_result(None)
        if committed.events or committed.look:
            self._told(committed)
        if line.waiting:
            self._plan(group.project, line)
        elif len(self._lines) > 1_000:
            del self._lines[group.project]

    async def close(self) -> None:
        """Write what waits, then end the threads."""
        self._closed = True
        await self._finished.wait()
        for _ in self._threads:
            self._groups.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)


async def take_slot(slots: asyncio.Semaphore, wait_seconds: float) -> None:
    """Wait a while for a place among those who are served; StoreBusy when none gets free."""
    if not slots.locked():
        await slots.acquire()  # free: returns without waiting
        return
    try:
        async with asyncio.timeout(wait_seconds):
            await slots.acquire()
    except TimeoutError as error:
        raise StoreBusy() from error


def _failed(group: _Group, error: BaseException) -> Committed:
    """What to say when a group did not come back with its outcomes."""
    known = isinstance(error, CovenError)
    if not known:
        log.error("a writer failed", exc_info=error)
    for work in group.works:
        if work.settled:
            continue
        work.value = None
        work.error = error if known else OutcomeUnknown(reason="a writer failed")
    # What is in the log is not known either: whoever listens had better look.
    return Committed(group.project, "", look=True)


def _give_up(writer: Writer) -> None:
    try:
        writer.close()
    except Exception:  # a boundary: the thread goes on with a new connection
        log.exception("a writer could not be closed")


def outcome(work: Work) -> Any:
    """What the function returned, or raise what it raised."""
    if work.error is not None:
        raise work.error
    return work.value
