"""Stores of earlier schemas: where the files are, how one is put in place, what is in a store.

Reads go around the store on purpose: whether rows are unaffected is seen with the database's own
eyes, not through the code that is being tested.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg
from psycopg import sql

STORES = Path(__file__).parent / "stores"
SCHEMAS = sorted(int(path.stem.removeprefix("schema-")) for path in STORES.glob("*.sqlite"))

Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the database describes it."""

    type: str
    nullable: bool
    default: str | None
    references: str | None


def place(schema: int, url: str) -> None:
    """Put the old store where `url` says that the store is."""
    name = f"schema-{schema:04}"
    if url.startswith("sqlite:"):
        shutil.copy(STORES / f"{name}.sqlite", url.removeprefix("sqlite:"))
        return
    text = (STORES / f"{name}.postgres.sql").read_text(encoding="utf-8")
    with psycopg.connect(url) as connection:
        connection.execute(text.encode())


def rows(url: str) -> Rows:
    """Every row of every table, each table sorted."""
    return {table: sorted(found, key=str) for table, found in _rows(url)}


def columns(url: str, table: str) -> dict[str, Column]:
    """The columns of a table, in order."""
    if url.startswith("sqlite:"):
        return _sqlite_columns(url, table)
    return _postgres_columns(url, table)


def run(url: str, statement: str) -> None:
    """Change something behind the store, which must be closed."""
    if url.startswith("sqlite:"):
        with _sqlite(url) as connection:
            connection.execute(statement)
    else:
        with psycopg.connect(url) as connection:
            connection.execute(statement.encode())


def _rows(url: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    if url.startswith("sqlite:"):
        with _sqlite(url) as connection:
            tables = connection.execute("SELECT name FROM kb.sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                cursor = connection.execute(f'SELECT * FROM kb."{table}"')
                names: list[str] = []
                found: list[dict[str, Any]] = []
                for row in cursor:  # apsw forgets the names with the last row
                    names = names or [name for name, _ in cursor.get_description()]
                    found.append(dict(zip(names, row, strict=True)))
                yield str(table), found
        return
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        tables = cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'kb'")
        for (table,) in tables.fetchall():
            cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("kb", table)))
            names = [column.name for column in cursor.description or ()]
            yield table, [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _sqlite_columns(url: str, table: str) -> dict[str, Column]:
    with _sqlite(url) as connection:
        keys = connection.execute(f"PRAGMA kb.foreign_key_list({table})").fetchall()
        references = {key[3]: f"{key[2]}({key[4]}) ON DELETE {key[6]}" for key in keys}
        return {
            name: Column(
                type=kind, nullable=not notnull, default=default, references=references.get(name)
            )
            for _, name, kind, notnull, default, _ in connection.execute(
                f"PRAGMA kb.table_info({table})"
            )
        }


def _postgres_columns(url: str, table: str) -> dict[str, Column]:
    with psycopg.connect(url) as connection:
        keys = connection.execute(
            "SELECT used.column_name, held.table_name, held.column_name, rule.delete_rule"
            " FROM information_schema.referential_constraints rule"
            " JOIN information_schema.key_column_usage used USING (constraint_schema,"
            " constraint_name) JOIN information_schema.constraint_column_usage held"
            " USING (constraint_schema, constraint_name)"
            " WHERE constraint_schema = 'kb' AND used.table_name = %s",
            (table,),
        ).fetchall()
        references = {key[0]: f"{key[1]}({key[2]}) ON DELETE {key[3]}" for key in keys}
        described = connection.execute(
            "SELECT column_name, data_type, is_nullable, column_default"
            " FROM information_schema.columns WHERE table_schema = 'kb' AND table_name = %s"
            " ORDER BY ordinal_position",
            (table,),
        ).fetchall()
    return {
        name: Column(
            type=kind, nullable=nullable == "YES", default=default, references=references.get(name)
        )
        for name, kind, nullable, default in described
    }


@contextlib.contextmanager
def _sqlite(url: str) -> Iterator[apsw.Connection]:
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        connection.execute("ATTACH ? AS kb", (url.removeprefix("sqlite:"),))
        connection.execute("PRAGMA foreign_keys=ON")
        yield connection
