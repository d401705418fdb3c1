"""Reading a table of the embedded store around the places that are damaged.

SQLite stops at the first page that it cannot read. Behind that page the rows are whole, and there
are two ways to them: a table that is ordered by a number is read on from the first number that can
be read; any other is read from its end backwards, until the damage is met from the other side. What
lies between two damaged pages of such a table stays unread. No row is given twice: the keys must
rise, or fall, with every row, and what breaks that order is damage as well.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from coven.core.errors import CovenError
from coven.store.engine import StoreCorrupt
from coven.store.statements import Statement, load
from coven.store.transaction import Row, Value

queries = load("coven.store", "sqlite.sql")

NUMBER_MAX = 2**63 - 1
NUMBER = "row_number"

Key = tuple[tuple[int, Value], ...]


class Streaming(Protocol):
    """A connection that gives the rows of an answer one at a time."""

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]: ...

    def stream(self, statement: Statement, values: dict[str, Value]) -> Iterator[Row]: ...


def table(link: Streaming, name: str) -> Iterator[Row | CovenError]:
    """The rows of a table; an error stands where some could not be read."""
    key = [row["name"] for row in link.rows(queries["key"], {"name": name})]
    return _by_key(link, name, key) if key else _by_number(link, name)


def _by_number(link: Streaming, table: str) -> Iterator[Row | CovenError]:
    statement = _filled(queries["by_number"], table)
    start: int | None = -NUMBER_MAX - 1
    last = 0
    while start is not None:
        try:
            for row in _ordered(link.stream(statement, {"start": start}), [NUMBER]):
                _check_number(row, start)
                last = row[NUMBER]
                yield {name: value for name, value in row.items() if name != NUMBER}
            return
        except CovenError as error:
            yield error
            start = _behind(link, statement, last)


def _behind(link: Streaming, statement: Statement, last: int) -> int | None:
    """The first number behind the damage from which there is something to read, or nothing left."""
    damaged, step = last, 1
    while last + step <= NUMBER_MAX and not _readable(link, statement, last + step):
        damaged, step = last + step, step * 2
    whole = last + step
    if whole > NUMBER_MAX:
        return None
    while whole - damaged > 1:
        middle = (whole + damaged) // 2
        if _readable(link, statement, middle):
            whole = middle
        else:
            damaged = middle
    return whole


def _readable(link: Streaming, statement: Statement, start: int) -> bool:
    try:
        for row in link.stream(statement, {"start": start}):
            _check_number(row, start)
            break
    except CovenError:
        return False
    return True


def _check_number(row: Row, start: int) -> None:
    if row[NUMBER] < start:
        raise StoreCorrupt(reason="rows are not in their order")


def _by_key(link: Streaming, table: str, key: list[str]) -> Iterator[Row | CovenError]:
    last: Row | None = None
    forwards = _filled(queries["forwards"], table, these_columns=_listed(key))
    try:
        for row in _ordered(link.stream(forwards, {}), key):
            last = row
            yield row
        return
    except CovenError as error:
        yield error
    known: dict[str, Value] = {name: last[name] for name in key} if last else {}
    backwards = _filled(
        queries["backwards"],
        table,
        these_columns=f"({_listed(key)}) > ({', '.join(f':{name}' for name in key)})"
        if known
        else "true",
        those_columns=", ".join(f'"{name}" DESC' for name in key),
    )
    try:
        yield from _ordered(link.stream(backwards, known), key, falling=True)
    except CovenError:
        return  # the other side of the damage that has been told


def _ordered(rows: Iterator[Row], key: list[str], *, falling: bool = False) -> Iterator[Row]:
    """The rows, as long as they stand in their order."""
    before: Key | None = None
    for row in rows:
        here = tuple(_ranked(row[name]) for name in key)
        if before is not None and not (here < before if falling else here > before):
            raise StoreCorrupt(reason="rows are not in their order")
        before = here
        yield row


def _ranked(value: Value) -> tuple[int, Value]:
    """A value as SQLite compares it: numbers stand before texts, and texts before bytes."""
    match value:
        case None:
            return (0, 0)
        case int() | float():
            return (1, value)
        case str():
            return (2, value)
        case _:
            return (3, bytes(value))


def _listed(key: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in key)


def _filled(template: Statement, table: str, **parts: str) -> Statement:
    text = template.sqlite.replace("this_table", table.replace('"', '""'))
    for name, part in parts.items():
        text = text.replace(name, part)
    return replace(template, sqlite=text, columns=[])
