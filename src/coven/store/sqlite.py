"""The embedded engine: SQLite through apsw, one file, one writer, many readers.

The connection's main database is an empty one in memory and the file is attached under the name
`kb`, so that `kb.events` means the same here as on PostgreSQL. Every PRAGMA must therefore name
`kb`; an unqualified one would silently set the memory database. Nothing but SQLite may open the
file in this process: closing any descriptor of it would drop SQLite's locks.
"""

import contextlib
import errno
import itertools
import os
import queue
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from coven.core import failpoints
from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import check, engine, lock, salvage
from coven.store.queries import queries
from coven.store.statements import Statement
from coven.store.transaction import Row, Value

APPLICATION_ID = 0x436F766E  # "Covn": tells our file from anybody else's
BUSY_MILLISECONDS = 2_500  # a foreign lock is told within 5 s of a start, imports included
READERS_MAX = 8
CACHE_KIB = 32 * 1024
CHECKPOINT_PAGES = 1_000
COPY_PAGES = 4_096
LOG_PAGES_MAX = 8_192
RESTART_MILLISECONDS = 200
JOURNAL_BYTES_KEPT = 64 * 1024 * 1024
_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
HEADER_BYTES = 100

BEFORE_COMMIT = failpoints.declare("store.commit.before", "everything is written, not committed")
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
        case apsw.CorruptError() | apsw.NotADBError():
            return engine.StoreCorrupt(reason=reason)
        case apsw.ProtocolError() | apsw.InterruptError():
            return engine.StoreBusy()
        case apsw.IOError() | apsw.CantOpenError() | apsw.NoMemError():
            return engine.StoreUnavailable(reason=reason)
        case _:
            return engine.StatementRefused(statement=statement, reason=reason)


class SqliteLink:
    """One connection to the file."""

    def __init__(self, path: Path, *, clock: Clock, writable: bool) -> None:
        self.path = path
        self._clock = clock
        self._writable = writable
        self._open()

    def _open(self) -> None:
        self.connection = _connect(self.path, writable=self._writable)
        self._execute = self.connection.execute

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]:
        try:
            cursor = self._execute(statement.sqlite, values)
            first = cursor.fetchone()
            if first is None:
                return []
            if not statement.columns:
                # In one step: another thread may be looking at the same statement.
                statement.columns[:] = [column[0] for column in cursor.description]
            names = statement.columns
            return [dict(zip(names, row, strict=True)) for row in (first, *cursor)]
        except apsw.Error as error:
            raise translate(error, statement.name) from error

    def stream(self, statement: Statement, values: dict[str, Value]) -> Iterator[Row]:
        """The rows of an answer one at a time; for what may be larger than memory, or damaged."""
        try:
            cursor = self._execute(statement.sqlite, values)
            names: list[str] = []
            for row in cursor:
                names = names or [column[0] for column in cursor.description]
                yield dict(zip(names, row, strict=True))
        except apsw.Error as error:
            raise translate(error, statement.name) from error
        except UnicodeDecodeError as error:
            raise engine.StoreCorrupt(reason="a text is not UTF-8") from error

    def table(self, name: str) -> Iterator[Row | CovenError]:
        return salvage.table(self, name)

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
        self._broken = False

    def _open(self) -> None:
        super()._open()
        self.connection.set_wal_hook(self._logged)
        self._log_pages, self._log_pages_due = 0, LOG_PAGES_MAX

    def begin(self, project: ProjectId) -> tuple[engine.Head, datetime]:
        self._marked = False
        if self._broken:
            self._open()
            self._broken = False
        if self._log_pages > self._log_pages_due:
            self._restart_log()
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
        try:
            self._execute("RELEASE work; SAVEPOINT work" if self._marked else "SAVEPOINT work")
        except apsw.Error as error:
            raise translate(error, "SAVEPOINT") from error
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
        try:
            failpoints.hit(BEFORE_COMMIT)
        except failpoints.FailpointError as error:
            raise engine.StoreUnavailable(reason=str(error)) from error
        try:
            self._execute("COMMIT")
            failpoints.hit(AFTER_COMMIT)
        except (apsw.IOError, failpoints.FailpointError) as error:
            # The frames may be on the disk although their fsync failed: a crash could revive them.
            raise engine.CommitUnresolved(str(error), landed=None) from error
        except apsw.Error as error:
            raise translate(error, "COMMIT") from error

    def _logged(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """Called by SQLite after each commit: what its own hook does, and a note of the length."""
        self._log_pages = pages
        if pages > CHECKPOINT_PAGES:
            with contextlib.suppress(apsw.Error):  # the next commit tries again
                connection.wal_checkpoint(database, apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def _restart_log(self) -> None:
        """Begin the log again at its start, which readers that overlap for ever would prevent.

        It waits for the readers of the moment, but not for long: a dump may take minutes.
        """
        self.connection.set_busy_timeout(RESTART_MILLISECONDS)
        try:
            self.connection.wal_checkpoint("kb", apsw.SQLITE_CHECKPOINT_RESTART)
            self._log_pages, self._log_pages_due = 0, LOG_PAGES_MAX
        except apsw.Error:
            self._log_pages_due = self._log_pages + LOG_PAGES_MAX // 4
        finally:
            self.connection.set_busy_timeout(BUSY_MILLISECONDS)

    def rollback(self) -> None:
        if self.connection.in_transaction:
            try:
                self._execute("ROLLBACK")
            except apsw.Error:
                # Closing rolls back in any case; the next group opens it again.
                self._broken = True
                self.connection.close(True)


class SqliteMigrator:
    """A connection that may change the schema, inside one exclusive boot."""

    def __init__(self, link: SqliteLink) -> None:
        self._link = link

    def existing(self) -> bool:
        return bool(self._link.rows(queries["has_meta"], {}))

    def apply(self, statements: Sequence[str], record: engine.Record) -> None:
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
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise _from_system(error) from error
        # A copy of this name may be there from an earlier upgrade, or from a start that was killed;
        # what is kept now must be the database as it is now.
        taken = sum(1 for _ in folder.glob(f"{name}*.db"))
        _copy(self._link.path, folder / (f"{name}-{taken + 1}.db" if taken else f"{name}.db"))


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
    def reading(self) -> Generator[tuple[SqliteLink, datetime], None, None]:
        try:
            link = self._idle.get_nowait()
        except queue.Empty:
            link = SqliteLink(self.path, clock=self._clock, writable=False)
        try:
            link.connection.execute("BEGIN")
            yield link, self._clock.now()
        except apsw.Error as error:
            raise translate(error) from error
        finally:
            self._give_back(link)

    def _give_back(self, link: SqliteLink) -> None:
        try:
            if link.connection.in_transaction:
                link.connection.execute("ROLLBACK")
        except apsw.Error:
            link.close()
            return
        if self._idle.qsize() < READERS_MAX:
            self._idle.put(link)
        else:
            link.close()

    @contextmanager
    def migrating(self) -> Generator[SqliteMigrator, None, None]:
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
        problems: list[str] = []
        with self.reading() as (link, _):
            for look in (_pages, _references, check.problems):
                try:
                    problems += look(link)
                except engine.StoreCorrupt as damage:
                    problems.append(damage.message)
        return list(dict.fromkeys(problems))

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _claim_file(path: Path) -> None:
    """Make the file, or make sure that an existing one is ours, before anything is set on it."""
    try:
        _make_or_know(path)
        with contextlib.closing(apsw.Connection(str(path), flags=_OPEN)) as connection:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            if not _ask(connection, "PRAGMA page_count"):
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            mode = _ask(connection, "PRAGMA journal_mode=WAL")
            if mode != "wal":
                raise engine.StoreUnavailable(reason=f"no write-ahead log on this disk ({mode})")
            connection.execute("BEGIN IMMEDIATE")  # a foreign lock is told now, not at first use
            connection.execute("ROLLBACK")
        path.chmod(0o600)
    except apsw.BusyError as error:
        raise lock.foreign_writer(path) from error
    except apsw.Error as error:
        raise translate(error) from error
    except OSError as error:
        raise _from_system(error) from error


def _make_or_know(path: Path) -> None:
    """Make an empty file that only we may read, or know an existing one by its mark."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return
    if path.is_symlink():
        raise engine.StoreUnavailable(
            reason=f"{path.name} is a link, and the lock beside it would not protect its target"
        )
    if not path.is_file():
        raise engine.ForeignDatabase(path=path.name)
    for needed in (path, path.parent):
        if not os.access(needed, os.W_OK, effective_ids=True):
            raise engine.StoreReadOnly(reason=f"{needed.name} cannot be written")
    # Only its first bytes are looked at, and not through a connection: that would recover or
    # checkpoint what may be somebody else's, and after a crash the file alone need not make sense.
    # SQLite does the reading, because closing a descriptor of our own would drop its locks.
    looking = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        header = looking.xRead(HEADER_BYTES, 0)
    finally:
        looking.xClose()
    mark = int.from_bytes(header[68:72], "big")
    if path.stat().st_size and (header[:16] != b"SQLite format 3\0" or mark != APPLICATION_ID):
        raise engine.ForeignDatabase(path=path.name)


def _ask(connection: apsw.Connection, pragma: str) -> Any:
    return next(iter(connection.execute(pragma)))[0]


def _uri(path: Path, option: str) -> str:
    return f"{path.absolute().as_uri()}?{option}"


def _from_system(error: OSError) -> CovenError:
    """The error of ours that an error of the operating system means."""
    reason = error.strerror or type(error).__name__
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return engine.DiskFull()
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return engine.StoreReadOnly(reason=reason)
    return engine.StoreUnavailable(reason=reason)


def _connect(path: Path, *, writable: bool) -> apsw.Connection:
    try:
        connection = _attach(path)
        connection.execute("PRAGMA kb.synchronous=FULL")
        connection.execute(f"PRAGMA kb.cache_size=-{CACHE_KIB}")
        connection.execute(f"PRAGMA kb.journal_size_limit={JOURNAL_BYTES_KEPT}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA trusted_schema=OFF")
        if not writable:
            connection.execute("PRAGMA query_only=ON")
    except apsw.Error as error:
        raise translate(error) from error
    connection.authorizer = _authorize
    return connection


def _attach(path: Path) -> apsw.Connection:
    """A connection with the file under the name `kb`; a file that is gone is not made again."""
    connection = apsw.Connection(":memory:", flags=_OPEN | apsw.SQLITE_OPEN_CREATE)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute("ATTACH ? AS kb", (_uri(path, "mode=rw"),))
    return connection


def _authorize(operation: int, first: str | None, *others: str | None) -> int:
    """Everything that is kept goes to the file: the memory database stays empty."""
    _, database, _ = others
    if operation in (apsw.SQLITE_ATTACH, apsw.SQLITE_DETACH):
        return apsw.SQLITE_DENY
    if operation in _WRITES_ALLOWED and database != "kb":
        # A renamed table or column is looked for among the temporary ones too, which do not exist.
        renaming = operation == apsw.SQLITE_UPDATE and first == "sqlite_temp_master"
        return apsw.SQLITE_OK if renaming else apsw.SQLITE_DENY
    return apsw.SQLITE_OK


def _pages(link: SqliteLink) -> list[str]:
    """What is wrong with the pages of the file, and with its indexes against their tables."""
    try:
        looked = link.connection.execute(f"PRAGMA kb.integrity_check({check.PROBLEMS_MAX})")
        return [text for (text,) in looked if text != "ok"]
    except apsw.Error as error:
        raise translate(error) from error


def _references(link: SqliteLink) -> list[str]:
    """Rows that refer to a row which is not there."""
    try:
        looked = link.connection.execute("PRAGMA kb.foreign_key_check")
        broken = itertools.islice(looked, check.PROBLEMS_MAX)
        return [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in broken]
    except apsw.Error as error:
        raise translate(error) from error


def _copy(source: Path, target: Path) -> int:
    """A consistent copy, written beside its place and renamed when it is whole and on disk."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _fill(unfinished, source)
        return _publish(unfinished, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, apsw.Error):
            raise translate(error) from error
        if isinstance(error, OSError):
            raise _from_system(error) from error
        raise


def _fill(unfinished: Path, source: Path) -> None:
    with (
        contextlib.closing(apsw.Connection(str(source), flags=_OPEN)) as reading,
        contextlib.closing(_attach(unfinished)) as writing,
    ):
        reading.set_busy_timeout(BUSY_MILLISECONDS)
        reading.execute("BEGIN")
        # From here on the source stands still for us: writers would make the copy begin again.
        reading.execute("PRAGMA main.schema_version").fetchall()
        with writing.backup("kb", reading, "main") as copying:
            while not copying.done:
                copying.step(COPY_PAGES)
        writing.execute("PRAGMA kb.journal_mode=DELETE").fetchall()
        # Whoever goes back to this copy writes another log from here on: cursors must notice.
        writing.execute(salvage.queries["renew_epochs"].sqlite)


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
