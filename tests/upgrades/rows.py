"""Rows that a test puts into a store whose rooms have no verbs yet that would.

The valid rows are the ones of the old stores (`scripts.upgrade_rows`). A test takes one, changes
what it is about, and sees what the database says.
"""

from collections.abc import Iterable, Mapping, Sequence

from coven.store import Statement, Store, Transaction, Value
from coven.store.engine import StatementRefused
from coven.store.statements import parse
from scripts import upgrade_rows

NEWEST = 10

Wanted = dict[str, Value]


def valid(table: str, **wanted: Value) -> dict[str, Value]:
    """The first valid row of a table in which the wanted columns have the wanted values."""
    for name, values in upgrade_rows.up_to(NEWEST):
        if name == table and wanted.items() <= values.items():
            return dict(values)
    raise LookupError(f"no row of {table} has {wanted}")


async def fill(store: Store, *tables: str) -> None:
    """Put every valid row of these tables into the store."""
    rows = [row for row in upgrade_rows.up_to(NEWEST) if row[0] in tables]
    await store.write(_insert_all, rows)


async def insert(store: Store, table: str, **values: Value) -> None:
    """Put one row into the store."""
    await store.write(_insert_all, [(table, values)])


async def accepted(
    store: Store, table: str, changes: Iterable[tuple[Wanted, Wanted]]
) -> list[tuple[Wanted, Wanted]]:
    """The changes to a valid row that the database did not refuse; none should be left."""
    return [
        (wanted, change)
        for wanted, change in changes
        if not await _refuses(store, table, valid(table, **wanted) | change)
    ]


async def run(store: Store, text: str) -> None:
    """Run one statement in the store."""
    await store.write(_run, text)


async def _refuses(store: Store, table: str, values: Mapping[str, Value]) -> bool:
    try:
        await insert(store, table, **values)
    except StatementRefused:
        return True
    return False


def _insert_all(tx: Transaction, rows: Sequence[tuple[str, upgrade_rows.Values]]) -> None:
    for table, values in rows:
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        tx.run(_statement(f"INSERT INTO kb.{table} ({names}) VALUES ({marks})"), **values)


def _run(tx: Transaction, text: str) -> None:
    tx.run(_statement(text))


def _statement(text: str) -> Statement:
    return parse(f"-- name: made\n-- By a test.\n{text};", source="a test")["made"]
