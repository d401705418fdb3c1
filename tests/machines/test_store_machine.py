"""A machine that gives the store functions that succeed, fail, emit and raise, beside a model.

The model is a dictionary and a list. Functions that are given together run in the order in which
they were given, so the model runs them one after the other; whatever groups the store makes of
them, every outcome, every row and every event must be the model's. Each example is a project.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coven.core import failpoints, ids
from coven.core.clock import SystemClock
from coven.core.ids import ProjectId
from coven.store import Store, Transaction, events, open_store
from coven.store.engine import OutcomeUnknown, StatementRefused
from coven.store.values import UnstorableValue
from tests.machines import profiles
from tests.store import ledger
from tests.store.ledger import EntryMissing

NAMES = [f"n{number}" for number in range(6)]
names = st.sampled_from(NAMES)


class Refused(Exception):
    """What the machine's functions raise."""


@dataclass(slots=True)
class Model:
    """What the store should hold."""

    entries: dict[str, int] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)
    floor: int = 0

    def add(self, name: str, amount: int) -> Any:
        if name in self.entries or amount == 13:
            return StatementRefused
        self.entries[name] = amount
        self.log.append(("entry.added", name))
        return sum(self.entries.values())

    def remove(self, name: str) -> Any:
        if name not in self.entries:
            return EntryMissing
        del self.entries[name]
        self.log.append(("entry.removed", name))
        return None

    def emit(self, count: int) -> Any:
        self.log += [("entry.added", f"e{number}") for number in range(count)]
        return count

    def nothing(self, error: type[BaseException]) -> Any:
        return error


def emit(tx: Transaction, count: int) -> int:
    for number in range(count):
        tx.emit(ledger.EntryAdded(entity_id=f"e{number}"))
    return count


def add_then_raise(tx: Transaction, name: str) -> None:
    tx.run(ledger.queries["add_once"], name=name, amount=1)
    tx.emit(ledger.EntryAdded(entity_id=name))
    raise Refused


def swallow(tx: Transaction, name: str) -> str:
    tx.run(ledger.queries["add_once"], name=name, amount=1)
    with pytest.raises(StatementRefused):
        tx.all(ledger.queries["broken"])
    tx.emit(ledger.EntryAdded(entity_id=name))
    return "all is well"


def add_then_spoil(tx: Transaction, name: str) -> None:
    tx.run(ledger.queries["add_once"], name=name, amount=1)
    tx.emit(ledger.EntryAdded(entity_id="\ud800"))


Step = tuple[Callable[..., Any], tuple[Any, ...], Callable[[Model], Any]]
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda name, amount: (ledger.add, (name, amount), lambda m: m.add(name, amount)),
        names,
        st.sampled_from([-1, 0, 1, 13, 2**40]),
    ),
    st.builds(lambda name: (ledger.remove, (name,), lambda m: m.remove(name)), names),
    st.builds(lambda n: (emit, (n,), lambda m: m.emit(n)), st.integers(0, 3)),
    st.builds(lambda name: (add_then_raise, (name,), lambda m: m.nothing(Refused)), names),
    st.builds(lambda name: (swallow, (name,), lambda m: m.nothing(StatementRefused)), names),
    st.builds(lambda name: (add_then_spoil, (name,), lambda m: m.nothing(UnstorableValue)), names),
)


class StoreMachine(RuleBasedStateMachine):
    """The store must answer as the model does, whatever came before."""

    runner: asyncio.Runner
    clock: SystemClock
    open: Callable[[], Any]
    stores: list[Store]
    """The open store, which the machine may close and open again."""

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.project = ProjectId(ids.new())

    @property
    def store(self) -> Store:
        return self.stores[0].of(self.project)

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    async def give(self, batch: list[Step]) -> list[Any]:
        outcomes = await asyncio.gather(
            *(self.store.write(function, *arguments) for function, arguments, _ in batch),
            return_exceptions=True,
        )
        return [type(each) if isinstance(each, BaseException) else each for each in outcomes]

    @rule(batch=st.lists(steps, min_size=1, max_size=90))
    def write_together(self, batch: list[Step]) -> None:
        expected = [apply(self.model) for _, _, apply in batch]
        assert self.run(self.give(batch)) == expected

    @rule(step=steps)
    def write_alone(self, step: Step) -> None:
        expected = step[2](self.model)
        assert self.run(self.give([step])) == [expected]

    @rule(batch=st.lists(steps, min_size=1, max_size=5), nth=st.integers(1, 3))
    def write_while_the_disk_refuses_once(self, batch: list[Step], nth: int) -> None:
        expected = [apply(self.model) for _, _, apply in batch]
        with armed(f"store.commit.before=error@{nth}"):
            assert self.run(self.give(batch)) == expected

    @rule(step=steps)
    def write_and_lose_the_answer(self, step: Step) -> None:
        """The embedded engine cannot ask again what became of a commit; the other can."""
        expected = step[2](self.model)
        known = self.store.engine == "postgres"
        with armed("store.commit.after=error"):
            assert self.run(self.give([step])) == [expected if known else OutcomeUnknown]

    @rule(seconds=st.integers(-100_000, 100_000))
    def let_the_clock_jump(self, seconds: int) -> None:
        self.clock.move(timedelta(seconds=seconds))

    @precondition(lambda self: len(self.model.log) > self.model.floor)
    @rule(choice=st.randoms())
    def retire_up_to_one_event(self, choice: Any) -> None:
        page = self.run(self.store.read(events.page, None, limit=1000))
        last = choice.choice(page.items)
        before = events.clocks.parse(last.timestamp)
        gone = self.run(self.store.write(events.retire, before))
        assert gone == last.seq - self.model.floor
        self.model.floor = last.seq

    @rule()
    def close_and_open_again(self) -> None:
        self.run(self.stores[0].close())
        self.stores[0] = self.run(self.open())

    @invariant()
    def the_rows_are_the_models(self) -> None:
        assert self.run(self.store.read(ledger.names)) == sorted(self.model.entries)

    @invariant()
    def the_log_is_the_models(self) -> None:
        page = self.run(self.store.read(events.page, None, limit=100_000))
        told = [(event.seq, event.type, event.entity_id) for event in page.items]
        kept = list(enumerate(self.model.log, start=1))[self.model.floor :]
        assert told == [(seq, *fact) for seq, fact in kept][: len(told)]
        assert len(told) == len(kept) or page.has_more
        times = [event.timestamp for event in page.items]
        assert times == sorted(set(times))


@contextmanager
def armed(text: str) -> Iterator[None]:
    failpoints.arm(text)
    try:
        yield
    finally:
        failpoints.arm("")


def test_the_store_answers_as_the_model_does(store_url):
    clock = SystemClock()

    def reopen() -> Any:
        return open_store(store_url, clock=clock, rooms=ledger.ROOMS)

    with asyncio.Runner() as runner:
        stores = [runner.run(reopen())]
        known = {"runner": runner, "clock": clock, "open": staticmethod(reopen), "stores": stores}
        profiles.run(StoreMachine, profiles.profile(steps=20), **known)
        assert runner.run(stores[0].check()) == []
        runner.run(stores[0].close())
