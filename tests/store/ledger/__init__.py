"""A room that exists for tests: entries in a ledger, with one column of each kind and one event."""

from dataclasses import dataclass
from typing import Any, ClassVar

from coven.core.errors import CovenError, Kind
from coven.store import Event, Row, Transaction, View, load

ROOMS = ("coven.store", "tests.store.ledger")
queries = load("tests.store.ledger")


class EntryMissing(CovenError):
    """There is no entry {name}."""

    code = "TEST_ENTRY_MISSING"
    kind = Kind.MISSING
    remedy = "Only tests see this."


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAdded(Event):
    """An entry was added."""

    type: ClassVar[str] = "entry.added"
    amount: int = 0
    note: Any = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRemoved(Event):
    """An entry was removed."""

    type: ClassVar[str] = "entry.removed"


def add(tx: Transaction, name: str, amount: int = 1, **more: Any) -> int:
    """Add an entry and tell it; the total afterwards."""
    values = {"note": "", "weight": None, "content": None, "at": None, "facts": None} | more
    tx.run(queries["add"], name=name, amount=amount, **values)
    tx.emit(EntryAdded(entity_id=name, amount=amount, note=values["note"]))
    return total(tx)


def add_silently(tx: Transaction, name: str) -> None:
    """Add an entry without an event."""
    tx.run(
        queries["add"],
        name=name, amount=1, note="", weight=None, content=None, at=None, facts=None,
    )  # fmt: skip


def add_all(tx: Transaction, names: list[str]) -> None:
    """Add several entries."""
    for name in names:
        add(tx, name)


def add_then_fail(tx: Transaction, name: str, error: BaseException) -> None:
    """Add an entry, tell it, and raise."""
    add(tx, name)
    raise error


def remove(tx: Transaction, name: str) -> None:
    """Remove an entry that must be there."""
    if tx.run(queries["remove"], name=name) == 0:
        raise EntryMissing(name=name)
    tx.emit(EntryRemoved(entity_id=name))


def find(view: View, name: str) -> Row | None:
    """One entry, if it is there."""
    return view.first(queries["find"], name=name)


def names(view: View) -> list[str]:
    """The names of all entries."""
    return [row["name"] for row in view.all(queries["names"])]


def total(view: View) -> int:
    """The sum of all amounts."""
    row = view.first(queries["total"])
    assert row is not None
    return row["total"]
