"""The embedded engine: SQLite through apsw, one file, one writer, many readers.

The connection's main database is an empty one in memory and the file is attached under the name
`kb`, so that `kb.events` means the same here as on PostgreSQL. Every PRAGMA must therefore name
`kb`; an unqualified one would silently set the memory database. Nothing but SQLite may open the
file in this process: closing any descriptor of it would drop SQLite's locks.
"""

import contextlib
import os
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from coven.core import failpoints
from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import engine, lock
from coven.store.queries import queries
from coven.store.statements import Statement
from coven.store.transaction import Row, Value

APPLICATION_ID = 0x436F766E  # "Covn": tells our file from anybody else's
BUSY_MILLISECONDS = 4_000  # a foreign lock at boot must be told within 5 s
READERS_MAX = 8
CACHE_KIB = 32 * 1024

BEFORE_COMMIT = failpoints.declare("store.commit.before", "everything is written, nothing committed")
AFTER_COMMIT = failpoints.declare("store.commit.after", "committed and fsynced, nobody told")
AFTER_BEGIN = failpoints.declare("store.begin.after", "a group has begun, nothing is written")
MIGRATING = failpoints.declare("store.migration.before", "a migration has run, not committed")

_WRITES_ALLOWED = {
    apsw.SQLITE_INSERT,
    apsw.SQLITE_UPDATE,
    apsw.SQLITE_DELETE,
    apsw.SQLITE_CREATE_TABLE,
    apsw.SQLITE_CREATE_INDEX,
    apsw.SQLITE_CREATE_TRIGGER,
    apsw.SQLITE_CREATE_VIEW,
    apsw.SQLITE_DROP_TABLE,
    apsw.SQLITE_DROP_INDEX,
}


def translate(error: apsw.Error, statement: str = "") -> CovenError:
    """The error of ours that an error of SQLite means."""
    reason = str(error)
    match error:
        case apsw.FullError():
            return engine.DiskFull()
        case apsw.BusyError() | apsw.LockedError():
            return lock.DatabaseLocked(detail="Another program holds a write lock on coven.db.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return engine.StoreReadOnly(reason=reason)
        case apsw.CorruptError():
            return engine.StoreCorrupt(reason=reason)
        case apsw.IOError() | apsw.CantOpenError() | apsw.NoMemError():
            return engine.StoreUnavailable(reason=reason)
        case _:
            return engine.StatementRefused(statement=statement, reason=reason)


class SqliteLink:
    """One connection to the file."""

    def __init__(self, path: Path, *, clock: Clock, writable: bool) -> None:
        self.path = path
        self._clock = clock
        self.connection = _connect(path, writable=writable)
        self._execute = self.connection.execute

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]:
        try:
            cursor = self._execute(statement.sqlite, values)
            first = cursor.fetchone()
            if first is None:
                return []
            if not statement.columns:
                statement.columns.extend(column[0] for column in cursor.description)
            names = statement.columns
            return [dict(zip(names, row, strict=True)) for row in (first, *cursor)]
        except apsw.Error as error:
            raise translate(error, statement.name) from error

    def run(self, statement: Statement, values: dict[str, Value]) -> int:
        try:
            self._execute(statement.sqlite, values)
        except apsw.Error as error:
            raise translate(error, statement.name) from error
        return self.connection.changes()

    def close(self) -> None:
        self.connection.close(True)


class SqliteWriter(SqliteLink):
    """The one connection that writes."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        super().__init__(path, clock=clock, writable=True)
        self._marked = False

    def begin(self, project: ProjectId) -> tuple[engine.Head, datetime]:
        self._marked = False
        try:
            self._execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise translate(error, "BEGIN") from error
        failpoints.hit(AFTER_BEGIN)
        values: dict[str, Value] = {"project": project}
        found = self.rows(queries["lock"], values)
        if not found:
            self.run(queries["start"], {**values, "epoch": os.urandom(4).hex()})
            found = self.rows(queries["lock"], values)
        return engine.Head(**found[0]), self._clock.now()

    def savepoint(self) -> None:
        if self._marked:
            self._execute("RELEASE work")
        self._execute("SAVEPOINT work")
        self._marked = True

    def undo(self) -> None:
        try:
            # After a full disk the whole transaction is gone, its savepoints included.
            self._execute("ROLLBACK TO work")
        except apsw.Error as error:
            raise translate(error, "ROLLBACK TO") from error

    def many(self, statement: Statement, values: Iterable[dict[str, Value]]) -> None:
        try:
            self.connection.executemany(statement.sqlite, values)
        except apsw.Error as error:
            raise translate(error, statement.name) from error

    def commit(self) -> None:
        failpoints.hit(BEFORE_COMMIT)
        try:
            self._execute("COMMIT")
        except apsw.IOError as error:
            # The frames may be on the disk although their fsync failed: a crash could revive them.
            raise engine.CommitUnresolved(str(error), landed=None) from error
        except apsw.Error as error:
            raise translate(error, "COMMIT") from error
        failpoints.hit(AFTER_COMMIT)

    def rollback(self) -> None:
        if self.connection.in_transaction:
            self._execute("ROLLBACK")


class SqliteMigrator:
    """A connection that may change the schema, inside one exclusive boot."""

    def __init__(self, link: SqliteLink) -> None:
        self._link = link

    def existing(self) -> bool:
        return bool(self._link.rows(queries["has_meta"], {}))

    def apply(self, statements: Sequence[str], record: tuple[Statement, list[dict[str, Any]]]) -> None:
        connection = self._link.connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                connection.execute(statement)
            for values in record[1]:
                connection.execute(record[0].sqlite, values)
            failpoints.hit(MIGRATING)
            connection.execute("COMMIT")
        except apsw.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise translate(error, "a migration") from error

    def meta(self, statement: Statement) -> list[Row]:
        return self._link.rows(statement, {})

    def save_copy(self, name: str) -> None:
        folder = self._link.path.parent / "backups"
        folder.mkdir(mode=0o700, exist_ok=True)
        target = folder / f"{name}.db"
        if not target.exists():
            _copy(self._link.path, target)


class SqliteEngine:
    """SQLite in one file."""

    name = "sqlite"
    writers = 1

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._idle: queue.SimpleQueue[SqliteLink] = queue.SimpleQueue()
        _claim_file(path)

    def writer(self) -> SqliteWriter:
        return SqliteWriter(self.path, clock=self._clock)

    @contextmanager
    def reading(self) -> Iterator[tuple[SqliteLink, datetime]]:
        try:
            link = self._idle.get_nowait()
        except queue.Empty:
            link = SqliteLink(self.path, clock=self._clock, writable=False)
        try:
            link.connection.execute("BEGIN")
            yield link, self._clock.now()
        finally:
            if link.connection.in_transaction:
                link.connection.execute("ROLLBACK")
            if self._idle.qsize() < READERS_MAX:
                self._idle.put(link)
            else:
                link.close()

    @contextmanager
    def migrating(self) -> Iterator[SqliteMigrator]:
        link = SqliteLink(self.path, clock=self._clock, writable=True)
        try:
            yield SqliteMigrator(link)
        finally:
            link.close()

    def listen(self, woken: Callable[[ProjectId, int], None]) -> None:
        """One process owns the file, so nobody else commits."""

    def tell(self, heads: dict[ProjectId, int]) -> None:
        """Nobody else listens."""

    def backup(self, target: Path) -> int:
        if target.exists():
            raise engine.StoreUnavailable(reason=f"{target.name} exists already")
        return _copy(self.path, target)

    def check(self) -> list[str]:
        with self.reading() as (link, _):
            found = [row[0] for row in link.connection.execute("PRAGMA kb.integrity_check(100)")]
            broken = list(link.connection.execute("PRAGMA kb.foreign_key_check"))
        problems = [text for text in found if text != "ok"]
        return problems + [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in broken]

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _claim_file(path: Path) -> None:
    """Make the file, or make sure that an existing one is ours, before anything is set on it."""
    try:
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            known = connection.execute("PRAGMA application_id").fetchone()[0]
            if pages and known != APPLICATION_ID:
                raise engine.ForeignDatabase(path=path.name)
            if not pages:
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise engine.StoreUnavailable(reason=f"no write-ahead log on this disk ({mode})")
        path.chmod(0o600)
    except apsw.NotADBError as error:
        raise engine.ForeignDatabase(path=path.name) from error
    except apsw.Error as error:
        raise translate(error) from error


def _connect(path: Path, *, writable: bool) -> apsw.Connection:
    try:
        connection = apsw.Connection(":memory:", statementcachesize=512)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("ATTACH ? AS kb", (str(path),))
        connection.execute("PRAGMA kb.synchronous=FULL")
        connection.execute(f"PRAGMA kb.cache_size=-{CACHE_KIB}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA trusted_schema=OFF")
        if not writable:
            connection.execute("PRAGMA query_only=ON")
    except apsw.Error as error:
        raise translate(error) from error
    connection.authorizer = _authorize
    return connection


def _authorize(
    operation: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Everything that is kept goes to the file: the memory database stays empty."""
    if operation in (apsw.SQLITE_ATTACH, apsw.SQLITE_DETACH):
        return apsw.SQLITE_DENY
    if operation in _WRITES_ALLOWED and database != "kb":
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK


def _copy(source: Path, target: Path) -> int:
    """A consistent copy, written beside its place and renamed when it is whole and on disk."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(apsw.Connection(str(source))) as reading,
            contextlib.closing(apsw.Connection(str(unfinished))) as writing,
        ):
            writing.execute("PRAGMA journal_mode=DELETE")
            with writing.backup("main", reading, "main") as copying:
                while not copying.done:
                    copying.step(4096)
    except apsw.Error as error:
        unfinished.unlink(missing_ok=True)
        raise translate(error) from error
    unfinished.chmod(0o600)
    return _publish(unfinished, target)


def _publish(unfinished: Path, target: Path) -> int:
    descriptor = os.open(unfinished, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    os.rename(unfinished, target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return size

