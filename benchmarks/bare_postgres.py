"""PostgreSQL through psycopg and nothing else, with the durability of the store."""

from collections.abc import Sequence
from typing import Any, LiteralString, cast

import psycopg

from benchmarks.bare import PROJECT, STATEMENTS, event, row

_LOCK, _INSERT, _APPEND, _ADVANCE = (
    cast(LiteralString, STATEMENTS[name].postgres)
    for name in ("lock", "insert", "append", "advance")
)
_DURABLE = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")


class BarePostgres:
    """One connection to a store that Coven has made."""

    def __init__(self, url: str, *, savepoints: bool) -> None:
        self._connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)
        self._execute = self._connection.execute
        self._savepoints = savepoints

    def commit(self, numbers: Sequence[int]) -> None:
        self._execute("BEGIN")
        self._execute(_LOCK, {"project": PROJECT}).fetchall()
        for number in numbers:
            if self._savepoints:
                self._execute(
                    "RELEASE SAVEPOINT work; SAVEPOINT work"
                    if number != numbers[0]
                    else "SAVEPOINT work"
                )
            self._execute(_INSERT, row(number))
        events = [event(number) for number in numbers]
        with self._connection.cursor() as cursor:
            cursor.executemany(_APPEND, events)
        last = events[-1]
        moved = {"project": PROJECT, "seq": last["seq"], "last_at": last["timestamp"]}
        self._execute(_ADVANCE, moved)
        self._execute("COMMIT")

    def last(self) -> int:
        """The number of the last event that is there."""
        found = self._execute(_LOCK, {"project": PROJECT}).fetchone()
        return 0 if found is None else int(found[1])

    def settings(self) -> dict[str, object]:
        """What makes its commits durable, as the server says, and its version."""
        told: dict[str, object] = {}
        for name in (*_DURABLE, "server_version"):
            found = self._execute(cast(LiteralString, f"SHOW {name}")).fetchone()
            told["postgres" if name == "server_version" else name] = found[0] if found else None
        return told

    def close(self) -> None:
        self._connection.close()
