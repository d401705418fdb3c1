"""The driver of periodic work: when a pass comes, what a failure means, and the end."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from coven.core.errors import CovenError
from coven.daemon import loops
from coven.daemon.loops import Counts, Loop, Loops
from coven.daemon.model import LoopUnknown
from tests.eventually import eventually

HOUR = timedelta(hours=1)


class HandClock:
    """Two clocks that stand still until a test moves them, and know how often they were read."""

    offset = timedelta(0)

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 31, tzinfo=UTC)
        self.seconds = 100.0
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return self.time

    def monotonic(self) -> float:
        return self.seconds


class Work:
    """One pass that counts itself, and can be told to fail or to wait."""

    def __init__(self) -> None:
        self.begun = 0
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.was_cancelled = False

    async def run_once(self) -> Counts:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self.failure is not None:
            raise self.failure
        return {"cured": self.begun}


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LOOK_SECONDS", 0.001)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def work() -> Work:
    return Work()


@pytest.fixture
async def driver(work: Work, clock: HandClock) -> AsyncIterator[Loops]:
    loop = Loop(name="ailments", meaning="Cures them.", every=HOUR, run_once=work.run_once)
    driver = Loops([loop], clock)
    yield driver
    await driver.close()


async def looked(clock: HandClock) -> None:
    """The driver has looked at the clock several times since now."""
    before = clock.looks
    await eventually(lambda: clock.looks > before + 3)


async def test_nothing_runs_before_the_start_and_the_first_pass_comes_with_it(
    driver: Loops, work: Work, clock: HandClock
) -> None:
    assert work.begun == 0
    driver.start()
    await eventually(lambda: driver.all()[0].passes == 1)
    assert driver.all()[0].last_counts == {"cured": 1}
    assert driver.all()[0].last_run_at == clock.time


async def test_the_next_pass_comes_after_an_hour_and_not_before(
    driver: Loops, work: Work, clock: HandClock
) -> None:
    driver.start()
    await eventually(lambda: driver.all()[0].passes == 1)
    clock.time += HOUR - timedelta(seconds=1)
    await looked(clock)
    assert work.begun == 1
    clock.time += timedelta(seconds=1)
    await eventually(lambda: driver.all()[0].passes == 2)
    await looked(clock)
    assert work.begun == 2


async def test_a_time_of_day_that_is_set_back_does_not_hold_up_a_pass(
    driver: Loops, clock: HandClock
) -> None:
    driver.start()
    await eventually(lambda: driver.all()[0].passes == 1)
    clock.time -= timedelta(days=3)
    clock.seconds += HOUR.total_seconds()
    await eventually(lambda: driver.all()[0].passes == 2)


async def test_a_pass_that_fails_is_told_and_tried_again_at_its_next_time(
    driver: Loops, work: Work, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for failure in (ValueError("a defect"), CovenError()):
        work.failure = failure
        driver.start() if not work.begun else None
        await eventually(lambda: driver.all()[0].last_error == str(work.failure))
        clock.time += HOUR
    work.failure = None
    await eventually(lambda: driver.all()[0].passes == 1)
    assert driver.all()[0].failures == 2
    assert driver.all()[0].last_error is None
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_a_pass_can_be_made_now_and_its_error_is_the_callers(
    driver: Loops, work: Work
) -> None:
    record = await driver.run("ailments")
    assert (record.passes, record.last_counts) == (1, {"cured": 1})
    work.failure = CovenError()
    with pytest.raises(CovenError):
        await driver.run("ailments")
    assert (record.passes, record.failures) == (1, 1)
    with pytest.raises(LoopUnknown):
        await driver.run("nothing")


async def test_two_passes_of_one_loop_never_overlap(driver: Loops, work: Work) -> None:
    work.gate.clear()
    driver.start()
    await eventually(lambda: work.begun == 1)
    asked = asyncio.create_task(driver.run("ailments"))
    await asyncio.wait([asked], timeout=0.02)
    assert work.begun == 1
    work.gate.set()
    assert (await asked).passes == 2


async def test_the_end_cuts_a_pass_that_is_under_way(driver: Loops, work: Work) -> None:
    work.gate.clear()
    driver.start()
    await eventually(lambda: work.begun == 1)
    await asyncio.wait_for(driver.close(), 5)
    assert work.was_cancelled
