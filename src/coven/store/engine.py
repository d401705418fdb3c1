"""The engine contract: what a database must be able to do, and how it fails.

Two engines fulfil it, `sqlite` and `postgres`, and one conformance suite proves both. Everything
above this line (groups, events, migrations, idempotency) is written once, against the contract.
The methods block; the store calls them from its worker threads only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from coven.core.errors import CovenError, Kind
from coven.core.ids import ProjectId
from coven.store.statements import Statement
from coven.store.transaction import Row, Value


class StoreBusy(CovenError):
    """The store has more work than it can take."""

    code = "STORE_BUSY"
    kind = Kind.UNAVAILABLE
    remedy = "Nothing was written. Try again in a moment, with fewer requests at once."


class StoreUnavailable(CovenError):
    """The store cannot be reached or cannot write: {reason}."""

    code = "STORE_UNAVAILABLE"
    kind = Kind.UNAVAILABLE
    remedy = "Look at the disk or the database server that holds the store, then try again."


class OutcomeUnknown(CovenError):
    """The connection to the store broke while it was committing: {reason}."""

    code = "OUTCOME_UNKNOWN"
    kind = Kind.UNAVAILABLE
    remedy = (
        "The write may or may not have happened. Send it again with the same Idempotency-Key, "
        "or read before you write."
    )


class DiskFull(CovenError):
    """The disk that holds the store is full."""

    code = "DISK_FULL"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Nothing was written, and nothing needs repair. Free some space on that disk, for example "
        "old files of .coven/backups; where the daemon has ended, `coven up` starts it again."
    )


class StoreReadOnly(CovenError):
    """The store can be read but not written: {reason}."""

    code = "STORE_READ_ONLY"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Make the directory .coven and every file in it writable for the user of the daemon; on "
        "PostgreSQL, let its role write in the schema kb."
    )


class StoreCorrupt(CovenError):
    """The database file is damaged: {reason}."""

    code = "STORE_CORRUPT"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Stop the daemon and keep a copy of .coven. Restore the newest file of .coven/backups, or "
        "save what can be read with `coven store dump`."
    )


class ForeignDatabase(CovenError):
    """{path} is not a database of Coven."""

    code = "FOREIGN_DATABASE"
    kind = Kind.CONFLICT
    remedy = (
        "It was left as it is. Move it away, or name another store with --store. If it was "
        "Coven's, it is damaged: keep it, and restore the newest file of .coven/backups."
    )


class StatementRefused(CovenError):
    """The database refused the statement {statement!r}: {reason}."""

    code = "STATEMENT_REFUSED"
    kind = Kind.BUG


class BackupElsewhere(CovenError):
    """A store on PostgreSQL is not backed up by Coven."""

    code = "BACKUP_ELSEWHERE"
    kind = Kind.CONFLICT
    remedy = "Use the server's own tools, such as pg_dump, or its continuous archiving."


class TryAgain(Exception):
    """To a group, never to a caller: the work was undone for a reason that goes away."""


class CommitUnresolved(Exception):
    """To a group: COMMIT was sent, no answer came; `landed` is None when nobody can find out."""

    def __init__(self, reason: str, *, landed: bool | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.landed = landed


# The statement that writes down that a migration ran, and the values of each of its notes.
Record = tuple[Statement, list[dict[str, Any]]]


@dataclass(slots=True)
class Head:
    """The last event of a project: the row that its writers lock first and move on last."""

    epoch: str
    seq: int
    floor: int
    last_at: str


class Link(Protocol):
    """One connection inside one transaction, used by one thread at a time."""

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]:
        """Every row of the answer."""
        ...

    def run(self, statement: Statement, values: dict[str, Value]) -> int:
        """How many rows were changed."""
        ...


class Reading(Link, Protocol):
    """A connection inside one consistent view."""

    def table(self, name: str) -> Iterator[Row | CovenError]:
        """The rows of one table, one at a time; an error stands where some cannot be read."""
        ...


class Writer(Link, Protocol):
    """A connection that writes groups of functions, one transaction for each group."""

    def begin(self, project: ProjectId) -> tuple[Head, datetime]:
        """Start a transaction that excludes other writers of the project; what time it is."""
        ...

    def savepoint(self) -> None:
        """Mark the place to which `undo` goes back; ends the mark before."""
        ...

    def undo(self) -> None:
        """Take back everything since the last mark. Raises when the whole transaction is gone."""
        ...

    def many(self, statement: Statement, values: Iterable[dict[str, Value]]) -> None:
        """Run one statement for each of the value sets."""
        ...

    def commit(self) -> None:
        """Make it durable: returns only after the fsync. CommitUnresolved if nobody knows."""
        ...

    def rollback(self) -> None:
        """Forget the transaction; harmless when it is gone already."""
        ...

    def close(self) -> None:
        """Give the connection up."""
        ...


class Engine(Protocol):
    """A database."""

    name: str
    """`sqlite` or `postgres`: which variant of a statement or a migration is meant."""
    writers: int
    """How many groups of different projects can be written side by side."""

    def writer(self) -> Writer:
        """A new connection for writing. Called once by each worker thread."""
        ...

    def reading(self) -> AbstractContextManager[tuple[Reading, datetime]]:
        """A consistent view for the length of a `with`, on a connection of a pool."""
        ...

    def migrating(self) -> AbstractContextManager["Migrator"]:
        """The right to change the schema: nobody else has it meanwhile."""
        ...

    def listen(self, woken: Callable[[ProjectId, int], None]) -> None:
        """Call `woken` when another daemon has committed events; does nothing when embedded."""
        ...

    def tell(self, heads: dict[ProjectId, int]) -> None:
        """Tell other daemons how far the events of these projects have come."""
        ...

    def backup(self, target: Path) -> int:
        """Write a consistent copy to a new file; how many bytes it has."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the database: empty when nothing is.

        The log of every project is compared with its head on either engine. How far pages, indexes
        and references are looked at is the engine's to say.
        """
        ...

    def close(self) -> None:
        """Let everything go. Writers are closed by their threads."""
        ...


class Migrator(Protocol):
    """A connection that may change the schema."""

    def existing(self) -> bool:
        """Whether there is a table `kb.meta`, which the first migration makes."""
        ...

    def apply(self, statements: Sequence[str], record: Record) -> None:
        """Run one migration and write down that it ran, in one durable transaction."""
        ...

    def meta(self, statement: Statement) -> list[Row]:
        """Read what was written down."""
        ...

    def save_copy(self, name: str) -> None:
        """Keep a copy of the whole database before its schema changes, where that is ours to do."""
        ...
