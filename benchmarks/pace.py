"""Writers on an event loop: as fast as they can, or at a given rate."""

import asyncio
import math
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

Write = Callable[[], Awaitable[object]]


async def flat_out(write: Write, *, writers: int, seconds: float) -> tuple[float, list[float]]:
    """So many writers, each waiting for its answer: the rate, and how long each write took."""
    took: list[float] = []
    began = time.perf_counter()
    until = began + seconds

    async def one() -> None:
        while (start := time.perf_counter()) < until:
            await write()
            took.append(time.perf_counter() - start)

    await asyncio.gather(*(one() for _ in range(writers)))
    return len(took) / (time.perf_counter() - began), took


async def at_rate(
    write: Write, *, writers: int, seconds: float, per_second: float
) -> tuple[float, list[float]]:
    """The same at a rate: the rate that was kept, and the times, counted from when each was due.

    A writer that is held up by a slow answer counts the next one from when it was due, so that a
    pause of the store is not hidden; the timer's own lateness is not the store's.
    """
    took: list[float] = []
    gap = writers / per_second
    began = time.perf_counter()
    until = began + seconds

    async def one(number: int) -> None:
        due = began + gap * number / writers
        while due < until:
            ahead = due - time.perf_counter()
            start = due
            if ahead > 0:
                await asyncio.sleep(ahead)
                start = time.perf_counter()
            await write()
            took.append(time.perf_counter() - start)
            due += gap

    await asyncio.gather(*(one(number) for number in range(writers)))
    return len(took) / (time.perf_counter() - began), took


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent of the values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, math.ceil(len(ranked) * percent / 100) - 1)]


@dataclass(slots=True)
class Rounds:
    """The same thing, measured several times in turn with what it is compared with."""

    rates: list[float] = field(default_factory=list[float])
    seconds: list[list[float]] = field(default_factory=list[list[float]])
    """How long each single one took, round by round."""

    def add(self, rate: float, seconds: list[float]) -> None:
        self.rates.append(rate)
        self.seconds.append(seconds)

    @property
    def rate(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rates)

    @property
    def n(self) -> int:
        """How many there were."""
        return sum(len(seconds) for seconds in self.seconds)

    def percentile(self, percent: float) -> float:
        """The median of the percentiles of the rounds."""
        return statistics.median(percentile(seconds, percent) for seconds in self.seconds)

    def ratio(self, reference: "Rounds") -> float:
        """The median of what each round says: a burst of noise spoils one round, not the claim."""
        pairs = zip(self.rates, reference.rates, strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)
