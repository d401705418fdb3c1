"""Back-pressure, groups and retries: what stands between a caller and the commit."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from coven.core.clock import SystemClock
from coven.core.ids import ProjectId
from coven.store import Store, Transaction, groups, open_store, writing
from coven.store import store as stores
from coven.store.engine import DiskFull, OutcomeUnknown, StoreBusy, StoreUnavailable, TryAgain
from coven.store.groups import Committed, Work
from coven.store.sqlite import SqliteEngine, SqliteWriter
from coven.store.writing import Writing, outcome
from tests.contracts.store_contract import Gate, gaplessly, log_of
from tests.eventually import eventually
from tests.store import ledger

P = ProjectId("default")


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture
async def store(store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    opened = await open_store(store_url, clock=clock, rooms=ledger.ROOMS)
    yield opened
    await opened.close()


@pytest.fixture
async def engine(store: Store, store_url: str) -> SqliteEngine:
    """A second engine on the file of the store; the store itself stays idle."""
    path = Path(store_url.removeprefix("sqlite:"))
    return await asyncio.to_thread(SqliteEngine, path, clock=SystemClock())


def work(function: Any, *args: Any) -> Work:
    return Work(function, args, {})


# Back-pressure


async def test_a_full_line_is_refused_after_a_while_and_loses_nothing_that_it_took(store, engine):
    line = Writing(engine, lambda committed: None, waiting_max=20, wait_seconds=0.05)
    gate = Gate()
    held = asyncio.create_task(line.submit(P, work(gate)))
    await asyncio.to_thread(gate.reached.wait, 10)
    works = [work(ledger.add, f"e{n:02}") for n in range(50)]
    callers = [asyncio.create_task(line.submit(P, each)) for each in works]
    await eventually(lambda: sum(caller.done() for caller in callers) == 31)
    gate.open.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    await held
    assert [type(answer) for answer in answers] == [type(None)] * 19 + [StoreBusy] * 31
    assert await store.read(ledger.names) == [f"e{n:02}" for n in range(19)]
    await line.submit(P, work(ledger.add, "after"))
    await line.close()


async def test_who_stops_waiting_for_a_place_gives_it_back(store, engine):
    line = Writing(engine, lambda committed: None, waiting_max=1, wait_seconds=30)
    for _ in range(20):
        gate = Gate()
        held = asyncio.create_task(line.submit(P, work(gate)))
        await asyncio.to_thread(gate.reached.wait, 10)
        impatient = [asyncio.create_task(line.submit(P, work(ledger.names))) for _ in range(5)]
        await asyncio.to_thread(lambda: None)
        impatient[0].cancel()
        gate.open.set()
        impatient[1].cancel()
        await asyncio.gather(held, *impatient, return_exceptions=True)
    await asyncio.wait_for(line.submit(P, work(ledger.add, "a")), 5)
    assert line._slots._value == 1
    await line.close()


async def test_a_line_that_closes_refuses_those_who_still_wait_for_a_place(engine):
    line = Writing(engine, lambda committed: None, waiting_max=1, wait_seconds=30)
    gate = Gate()
    held = asyncio.create_task(line.submit(P, work(gate)))
    await asyncio.to_thread(gate.reached.wait, 10)
    late = asyncio.create_task(line.submit(P, work(ledger.add, "late")))
    await asyncio.to_thread(lambda: None)
    closing = asyncio.create_task(line.close())
    await asyncio.to_thread(lambda: None)
    gate.open.set()
    await asyncio.gather(held, closing)
    with pytest.raises(StoreUnavailable):
        await late
    await line.close()


async def test_a_flood_of_reads_waits_for_its_turn_and_is_then_refused(store, monkeypatch):
    monkeypatch.setattr(stores, "WAIT_SECONDS", 0.05)
    store._house.reading = asyncio.Semaphore(8)
    gate = threading.Event()
    held = [asyncio.create_task(store.read(lambda view: gate.wait(10) and None)) for _ in range(8)]
    await asyncio.to_thread(lambda: None)
    with pytest.raises(StoreBusy):
        await store.read(ledger.names)
    gate.set()
    await asyncio.gather(*held)
    assert await store.read(ledger.names) == []


async def test_what_waits_together_is_committed_together(store, engine):
    commits: list[Committed] = []
    line = Writing(engine, commits.append)
    gate = Gate()
    held = asyncio.create_task(line.submit(P, work(gate)))
    await asyncio.to_thread(gate.reached.wait, 10)
    more = [asyncio.create_task(line.submit(P, work(ledger.add, f"e{n}"))) for n in range(130)]
    await asyncio.to_thread(lambda: None)
    gate.open.set()
    await asyncio.gather(held, *more)
    assert [len(each.events) for each in commits] == [60, 60, 10]
    await line.close()


async def test_a_project_that_is_quiet_again_leaves_nothing_behind(engine):
    line = Writing(engine, lambda committed: None)
    for number in range(1_100):
        await line.submit(ProjectId(f"p{number}"), work(ledger.names))
    assert len(line._lines) <= 1_001
    await line.close()


# What goes wrong while a group is written


class TroubledWriter(SqliteWriter):
    """The real writer, whose steps fail as the test says: a list of errors for each step."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, clock=SystemClock())
        self.errors: dict[str, list[BaseException | None]] = {}
        self.steps: list[str] = []

    def _step(self, name: str) -> None:
        self.steps.append(name)
        waiting = self.errors.get(name)
        if waiting and (error := waiting.pop(0)) is not None:
            raise error

    def begin(self, project: ProjectId) -> tuple[Any, datetime]:
        self._step("begin")
        return super().begin(project)

    def run(self, statement: Any, values: Any) -> int:
        self._step(statement.name)
        return super().run(statement, values)

    def commit(self) -> None:
        self._step("commit")
        super().commit()


@pytest.fixture
async def writer(store: Store, store_url: str) -> AsyncIterator[TroubledWriter]:
    path = Path(store_url.removeprefix("sqlite:"))
    opened = await asyncio.to_thread(TroubledWriter, path)
    yield opened
    await asyncio.to_thread(opened.close)


def write(writer: TroubledWriter, *names: str) -> list[Any]:
    works = [work(ledger.add, name) for name in names]
    groups.write(writer, P, works)
    return [each.error if each.error is not None else each.value for each in works]


@pytest.mark.parametrize("error", [TryAgain("x"), StoreUnavailable(reason="x"), DiskFull()])
async def test_a_commit_that_fails_once_costs_nobody_anything(store, writer, error):
    writer.errors = {"commit": [error]}
    assert await asyncio.to_thread(write, writer, "a", "b", "c") == [1, 2, 3]
    assert await log_of(store) == gaplessly("a", "b", "c")


async def test_a_deadlock_that_does_not_go_away_is_told_as_busy(store, writer):
    writer.errors = {"commit": [TryAgain("x")] * 100}
    (answer,) = await asyncio.to_thread(write, writer, "a")
    assert isinstance(answer, StoreBusy)
    assert writer.steps.count("begin") == groups.ATTEMPTS_MAX
    assert await log_of(store) == []


async def test_trouble_in_one_function_reaches_only_its_own_caller(store, writer):
    writer.errors = {"add": [None, DiskFull(), None, DiskFull()]}
    answers = await asyncio.to_thread(write, writer, "a", "b", "c")
    assert [type(answer) for answer in answers] == [int, DiskFull, int]
    assert await log_of(store) == gaplessly("a", "c")


async def test_a_store_that_cannot_begin_is_asked_twice_and_not_once_for_every_caller(
    store, writer
):
    writer.errors = {"begin": [StoreUnavailable(reason="away")] * 100}
    answers = await asyncio.to_thread(write, writer, *(f"e{n}" for n in range(60)))
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert writer.steps == ["begin", "begin"]


async def test_when_the_store_goes_away_between_two_single_runs_the_rest_is_refused(store, writer):
    away = [StoreUnavailable(reason="away")] * 100
    writer.errors = {"commit": [TryAgain("x"), None], "begin": [None, None, *away]}
    answers = await asyncio.to_thread(write, writer, "a", "b", "c")
    assert [type(answer) for answer in answers] == [int, StoreUnavailable, StoreUnavailable]
    assert writer.steps.count("begin") == 4, "all together, the first alone, the second twice"
    assert await log_of(store) == gaplessly("a")


async def test_a_defect_of_the_writer_is_never_told_as_a_success_or_a_failure(
    store, engine, caplog
):
    """A raw error says nothing about what is in the database, and must not end the thread."""
    line = Writing(engine, lambda committed: None)
    troubled = await asyncio.to_thread(TroubledWriter, engine.path)
    troubled.errors = {"advance": [None, ZeroDivisionError()]}
    writers = [troubled]
    engine.writer = lambda: writers.pop() if writers else TroubledWriter(engine.path)
    works = [work(ledger.add, name) for name in ("a", "b", "c")]
    await line.submit(P, works[0])
    await asyncio.gather(*(line.submit(P, each) for each in works[1:]))
    assert outcome(works[0]) == 1
    for each in works[1:]:
        with pytest.raises(OutcomeUnknown):
            outcome(each)
    last = work(ledger.add, "d")
    await line.submit(P, last)
    assert outcome(last) == 2
    assert "a writer failed" in caplog.text
    await line.close()


async def test_those_whose_own_commit_is_done_keep_their_answers_when_a_later_one_breaks(
    store, engine, caplog
):
    line = Writing(engine, lambda committed: None)
    troubled = await asyncio.to_thread(TroubledWriter, engine.path)
    troubled.errors = {"commit": [None, TryAgain("x"), None, ZeroDivisionError()]}
    writers = [troubled]
    engine.writer = lambda: writers.pop() if writers else TroubledWriter(engine.path)
    await line.submit(P, work(ledger.names))
    works = [work(ledger.add, name) for name in ("a", "b", "c")]
    await asyncio.gather(*(line.submit(P, each) for each in works))
    assert outcome(works[0]) == 1
    for each in works[1:]:
        with pytest.raises(OutcomeUnknown):
            outcome(each)
    assert await store.read(ledger.names) == ["a"]
    await line.close()


async def test_a_function_that_runs_again_has_no_effect_but_its_writes(store, writer):
    runs: list[int] = []

    def add(tx: Transaction) -> int:
        runs.append(1)
        ledger.add(tx, "a")
        return len(runs)

    one = work(add)
    writer.errors = {"commit": [TryAgain("x")]}
    await asyncio.to_thread(groups.write, writer, P, [one])
    assert (one.value, len(runs)) == (2, 2)
    assert await log_of(store) == gaplessly("a")


def test_the_size_of_a_group_stays_below_what_postgresql_caches():
    assert groups.GROUP_MAX <= 60
    assert writing.WAITING_MAX >= groups.GROUP_MAX
