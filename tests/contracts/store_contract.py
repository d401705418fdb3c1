"""The conformance suite of the store: what a transaction, a view and the log mean on any engine.

A clause is a sentence and the code that proves it, given a fresh store with the test room `ledger`.
Nothing here knows which engine it runs on.
"""

import asyncio
import json
import math
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest

from coven.core import clock as clocks
from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import Store, Transaction, View, events, idempotency
from coven.store.cursors import MalformedEventCursor
from coven.store.engine import StatementRefused, StoreUnavailable
from coven.store.idempotency import IdempotencyKey, Reply
from coven.store.values import UnstorableValue, ValueTooLarge
from tests.store import ledger
from tests.store.ledger import queries

Clause = Callable[[Store, SystemClock], Awaitable[None]]
CLAUSES: list[Clause] = []
SECOND = timedelta(seconds=1)


def clause(function: Clause) -> Clause:
    """Make a function part of the suite."""
    CLAUSES.append(function)
    return function


class Refused(Exception):
    """What the tests' functions raise."""


async def log_of(store: Store) -> list[tuple[int, str, str]]:
    """The log as (number, type, entity id)."""
    page = await store.read(events.page, None, limit=1000)
    return [(event.seq, event.type, event.entity_id) for event in page.items]


def gaplessly(*entries: str) -> list[tuple[int, str, str]]:
    """The log that these additions make."""
    return [(number, "entry.added", name) for number, name in enumerate(entries, start=1)]


class Gate:
    """Holds a group at its first function, so that what comes meanwhile is one group."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.reached.set()
        assert self.open.wait(10), "nobody opened the gate"


async def in_one_group(store: Store, *writes: Awaitable[Any]) -> list[Any]:
    """The outcomes of writes that are all in the same group."""
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await asyncio.to_thread(gate.reached.wait, 10)
    waiting = [asyncio.ensure_future(write) for write in writes]
    await asyncio.to_thread(lambda: None)  # each of them stands in the line after one turn
    gate.open.set()
    await held
    return await asyncio.gather(*waiting, return_exceptions=True)


# What a function gives, keeps and loses


@clause
async def a_function_gives_its_result_and_what_it_wrote_can_be_read(store, clock):
    assert await store.write(ledger.add, "a", 5) == 5
    assert await store.write(ledger.add, "b", amount=2) == 7
    assert await store.read(ledger.names) == ["a", "b"]


@clause
async def a_function_that_raises_leaves_nothing_and_its_error_reaches_the_caller(store, clock):
    error = Refused()
    with pytest.raises(Refused) as caught:
        await store.write(ledger.add_then_fail, "a", error)
    assert caught.value is error
    assert await store.read(ledger.names) == []
    assert await log_of(store) == []


@clause
async def one_function_that_fails_takes_nothing_from_the_others_of_its_group(store, clock):
    outcomes = await in_one_group(
        store,
        store.write(ledger.add, "a"),
        store.write(ledger.add_then_fail, "b", Refused()),
        store.write(ledger.add, "c"),
        store.write(ledger.add_then_fail, "d", SystemExit()),
        store.write(ledger.remove, "nothing"),
        store.write(ledger.add, "e", 13),
        store.write(ledger.add, "f"),
    )
    assert [type(outcome).__name__ for outcome in outcomes] == [
        *("int", "Refused", "int", "RuntimeError", "EntryMissing", "StatementRefused", "int")
    ]
    assert await store.read(ledger.names) == ["a", "c", "f"]
    assert await log_of(store) == gaplessly("a", "c", "f")


@clause
async def each_function_of_a_group_sees_what_those_before_it_wrote(store, clock):
    outcomes = await in_one_group(store, *(store.write(ledger.add, f"e{n}") for n in range(59)))
    assert outcomes == list(range(1, 60))


@clause
async def more_functions_than_fit_in_one_group_all_come_through_in_order(store, clock):
    await in_one_group(store, *(store.write(ledger.add, f"e{n:03}") for n in range(200)))
    assert await log_of(store) == gaplessly(*(f"e{n:03}" for n in range(200)))


@clause
async def a_statement_that_was_refused_fails_its_function_even_if_it_looks_away(store, clock):
    def look_away(tx: Transaction) -> str:
        ledger.add(tx, "a")
        with pytest.raises(StatementRefused):
            tx.all(queries["broken"])
        with pytest.raises(StatementRefused):
            ledger.add(tx, "b")
        return "all is well"

    with pytest.raises(StatementRefused):
        await store.write(look_away)
    assert await store.read(ledger.names) == []


@clause
async def a_group_goes_on_after_a_refused_statement(store, clock):
    def look_away(tx: Transaction) -> None:
        with pytest.raises(StatementRefused):
            tx.run(queries["broken"])

    outcomes = await in_one_group(store, store.write(look_away), store.write(ledger.add, "a"))
    assert isinstance(outcomes[0], StatementRefused)
    assert outcomes[1:] == [1]


@clause
async def a_write_says_how_many_rows_it_changed(store, clock):
    def write(tx: Transaction) -> list[int]:
        return [
            tx.run(queries["add_once"], name="a", amount=1),
            tx.run(queries["add_once"], name="a", amount=1),
            tx.run(queries["change"], by=1, pattern="%"),
            tx.run(queries["remove"], name="z"),
            tx.run(queries["remove"], name="a"),
        ]

    assert await store.write(write) == [1, 0, 1, 0, 1]


@clause
async def a_returning_statement_answers_and_one_without_an_answer_answers_nothing(store, clock):
    def write(tx: Transaction) -> Any:
        nothing = tx.all(queries["add_once"], name="a", amount=1)
        tx.run(queries["add_once"], name="b", amount=5)
        changed = tx.all(queries["change"], by=10, pattern="%")
        return nothing, sorted((row["name"], row["amount"]) for row in changed)

    assert await store.write(write) == ([], [("a", 11), ("b", 15)])


@clause
async def an_async_function_is_refused_and_a_view_cannot_be_written_through(store, clock):
    async def wait(tx: Transaction) -> None: ...

    for method in (store.write, store.read):
        with pytest.raises(TypeError, match="plain function"):
            await method(wait)
    with pytest.raises(AttributeError):
        await store.read(ledger.add, "a")
    with pytest.raises(RuntimeError, match="SystemExit"):
        await store.read(lambda view: exit(view.now and 1))
    with pytest.raises(CovenError) as caught:
        await store.read(lambda view: view.all(queries["change"], by=1, pattern="%"))
    assert caught.value.code == "STORE_READ_ONLY"


@clause
async def what_a_function_leaves_behind_cannot_use_its_transaction(store, clock):
    def lazily(view: View) -> Any:
        return (view.all(queries["names"]) for _ in range(1))

    for late in (await store.write(lazily), await store.read(lazily)):
        with pytest.raises(StatementRefused, match="has ended"):
            next(late)


@clause
async def check_then_act_is_safe_with_any_number_of_callers(store, clock):
    def claim(tx: Transaction) -> bool:
        if ledger.find(tx, "the one") is not None:
            return False
        ledger.add(tx, "the one")
        return True

    outcomes = await asyncio.gather(*(store.write(claim) for _ in range(150)))
    assert sum(outcomes) == 1


@clause
async def a_view_does_not_change_while_it_is_looked_at(store, clock):
    await store.write(ledger.add, "a")
    gate = Gate()

    def twice(view: View) -> tuple[list[str], list[str]]:
        before = ledger.names(view)
        gate(view)
        return before, ledger.names(view)

    looking = asyncio.create_task(store.read(twice))
    await asyncio.to_thread(gate.reached.wait, 10)
    await store.write(ledger.add, "b")
    gate.open.set()
    assert await looking == (["a"], ["a"])
    assert await store.read(ledger.names) == ["a", "b"]


@clause
async def a_caller_that_stops_waiting_does_not_stop_the_write(store, clock):
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await asyncio.to_thread(gate.reached.wait, 10)
    impatient = asyncio.create_task(store.write(ledger.add, "a"))
    patient = asyncio.create_task(store.write(ledger.add, "b"))
    await asyncio.to_thread(lambda: None)
    impatient.cancel()
    gate.open.set()
    await asyncio.gather(held, patient)
    assert impatient.cancelled()
    assert await store.read(ledger.names) == ["a", "b"]


@clause
async def closing_writes_what_waits_and_refuses_what_comes_later(store, clock):
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await asyncio.to_thread(gate.reached.wait, 10)
    waiting = asyncio.create_task(store.write(ledger.add, "a"))
    await asyncio.to_thread(lambda: None)
    closing = asyncio.create_task(store.close())
    await asyncio.to_thread(lambda: None)
    gate.open.set()
    await closing
    assert (await waiting, await held) == (1, None)
    for method in (store.write, store.read):
        with pytest.raises(StoreUnavailable):
            await method(ledger.names)
    await store.close()


# Values


@clause
async def values_come_back_as_they_went_in(store, clock):
    instant = clocks.render(datetime(2030, 1, 31, 12, 0, 0, 120000, UTC))
    text = "zwölf 工 🧵 \u202e \\ ' \" %s :name \x01\x7f\r\n\ufffe"
    content = bytes(range(256))
    for amount in (0, -1, 2**63 - 1, -(2**63)):
        await store.write(
            ledger.add, f"n{amount}", amount, note=text, weight=0.1, content=content, at=instant
        )
        await store.write(ledger.remove, f"n{amount}")
    await store.write(ledger.add, "all", 7, note=text, weight=-1e-300, content=content, at=instant)
    assert await store.read(ledger.find, "all") == {
        "name": "all", "amount": 7, "note": text, "weight": -1e-300, "content": content,
        "at": instant, "facts": None,
    }  # fmt: skip


@clause
async def instants_are_fixed_text_and_sums_and_comparisons_are_numbers(store, clock):
    for number, at in enumerate(("2030-01-31T12:00:00.000000Z", "0999-12-31T23:59:59.999999Z")):
        await store.write(ledger.add, f"e{number}", 2**40, at=at)
        assert (await store.read(ledger.find, f"e{number}"))["at"] == at
    row = await store.read(lambda view: view.first(queries["total"]))
    assert row == {"total": 2**41, "several": 1}
    assert [type(value) for value in row.values()] == [int, int]


@clause
async def json_keeps_its_meaning(store, clock):
    facts = '{"b":[1,2.5,null,true,"\\u00fc \\\\u0000"],"a":{}}'
    await store.write(ledger.add, "a", facts=facts)
    found = await store.read(ledger.find, "a")
    assert isinstance(found["facts"], str)
    assert json.loads(found["facts"]) == {
        "a": {}, "b": [1, 2.5, None, True, "ü \\u0000"],
    }  # fmt: skip


@clause
async def words_numbers_and_switches_of_our_own_are_plain_values(store, clock):
    class Word(StrEnum):
        ONE = "one"

    await store.write(ledger.add, Word.ONE, True, note=Word.ONE, content=bytearray(b"x"), weight=3)
    found = await store.read(ledger.find, "one")
    assert (found["note"], found["amount"], found["content"]) == ("one", 1, b"x")
    assert type(found["note"]) is str


@clause
async def what_cannot_be_kept_is_refused_before_it_reaches_the_database(store, clock):
    bad: list[dict[str, Any]] = [
        {"name": "a\0b"},
        {"name": "\ud800"},
        {"name": "a", "amount": 2**63},
        {"name": "a", "amount": -(2**63) - 1},
        {"name": "a", "amount": 10**400},
        {"name": "a", "weight": math.nan},
    ]
    for values in bad:
        with pytest.raises(UnstorableValue) as caught:
            await store.write(ledger.add, **values)
        assert "BUG" not in caught.value.kind.name
        with pytest.raises(UnstorableValue):
            await store.write(idempotency.remember, IdempotencyKey(
                principal="p", key="k\0", request_hash="h"), Reply(status=1, body="")
            )  # fmt: skip
    with pytest.raises(TypeError):
        await store.write(ledger.add, "a", note=datetime(2030, 1, 1, tzinfo=UTC))
    assert await store.read(ledger.names) == []


@clause
async def values_of_a_few_megabytes_are_kept_and_huge_ones_are_refused(store, clock):
    text, content = "ü" * 2_000_000, b"\0\xff" * 2_000_000
    await store.write(ledger.add_silently, "a")
    await store.write(
        lambda tx: tx.run(
            queries["add"],
            name="big", amount=1, note=text, weight=None, content=content, at=None, facts=None,
        )
    )  # fmt: skip
    found = await store.read(ledger.find, "big")
    assert found["note"] == text
    assert found["content"] == content
    with pytest.raises(ValueTooLarge):
        await store.write(ledger.add, "a", content=bytes(64 * 1024 * 1024 + 1))


@clause
async def a_statement_means_what_it_says_whatever_stands_in_its_quotes(store, clock):
    row = await store.read(lambda view: view.first(queries["percent"], amount=20))
    assert row == {"quoted": "%s :name 'x' %(y)s", "rest": 6, "a:b": "5"}


# Projects


@clause
async def projects_do_not_see_each_other_and_number_their_own_events(store, clock):
    other = store.of(ProjectId("other"))
    await store.write(ledger.add, "a")
    await other.write(ledger.add, "x")
    await other.write(ledger.add, "y")
    assert (await store.read(ledger.names), await other.read(ledger.names)) == (["a"], ["x", "y"])
    assert await log_of(store) == gaplessly("a")
    assert await log_of(other) == gaplessly("x", "y")
    assert await store.read(events.projects) == ["default", "other"]
    assert store.of(store.project) is store


@clause
async def a_cursor_of_one_project_means_nothing_in_another(store, clock):
    await store.write(ledger.add, "a")
    await store.of(ProjectId("other")).write(ledger.add, "x")
    place = (await store.read(events.end)).render()
    with pytest.raises(MalformedEventCursor):
        await store.of(ProjectId("other")).read(events.page, place, limit=10)
