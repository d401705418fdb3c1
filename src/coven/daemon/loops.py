"""The driver of periodic work: one task for each loop, one pass at a time.

A loop is named after the ailment it cures. Its pass is idempotent: it may run at any moment, twice,
or after a crash in the middle of itself. It can be run at once by its name, which is how tests and
`coven loop run` activate it. A pass that fails is logged and tried again at its next time.

Two clocks say when that is, and the earlier one wins: the steady one stands still while the machine
sleeps, and the time of day may be set back. By either alone, an hour could last for days.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.daemon.model import LoopUnknown

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How long a jump of the time of day can go unseen."""

Counts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Some periodic work: what it is called, why, how often, and one pass of it."""

    name: str
    meaning: str
    every: timedelta
    run_once: Callable[[], Awaitable[Counts]]


@dataclass(slots=True)
class Record:
    """How a loop has fared since the start of the daemon."""

    loop: Loop
    passes: int = 0
    failures: int = 0
    last_run_at: datetime | None = None
    last_counts: Counts = field(default_factory=dict[str, int])
    last_error: str | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Loops:
    """All loops of the daemon."""

    def __init__(self, loops: Sequence[Loop], clock: Clock) -> None:
        self._clock = clock
        self._records = {loop.name: Record(loop) for loop in loops}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin: each loop makes its first pass at once."""
        for record in self._records.values():
            self._tasks.append(asyncio.create_task(self._drive(record), name=record.loop.name))

    def all(self) -> list[Record]:
        """Every loop and how it fared, by name."""
        return sorted(self._records.values(), key=lambda record: record.loop.name)

    async def run(self, name: str) -> Record:
        """Make one pass now, after one that is under way. The pass's error is the caller's."""
        record = self._records.get(name)
        if record is None:
            raise LoopUnknown(name=name[:64])
        await self._pass(record)
        return record

    async def _drive(self, record: Record) -> None:
        while True:
            began = self._clock.monotonic(), self._clock.now()
            try:
                await self._pass(record)
            except CovenError as error:
                log.warning("loop %s: %s", record.loop.name, error.message)
            except Exception:  # a boundary: one failed pass must not end the loop
                log.exception("loop %s failed", record.loop.name)
            while (left := self._seconds_left(record.loop, *began)) > 0:  # noqa: ASYNC110 - nothing tells of a clock that jumps
                await asyncio.sleep(min(left, LOOK_SECONDS))

    def _seconds_left(self, loop: Loop, began: float, began_at: datetime) -> float:
        """How long until the next time of a loop, given when it last made a pass by itself."""
        steadily = self._clock.monotonic() - began
        by_the_day = (self._clock.now() - began_at).total_seconds()
        return loop.every.total_seconds() - max(steadily, by_the_day)

    async def _pass(self, record: Record) -> None:
        async with record.turn:
            record.last_run_at = self._clock.now()
            try:
                record.last_counts = await record.loop.run_once()
            except Exception as error:
                record.failures += 1
                record.last_error = str(error)
                raise
            record.passes += 1
            record.last_error = None

    async def close(self) -> None:
        """End all of them; a pass that is under way is ended between its transactions."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
