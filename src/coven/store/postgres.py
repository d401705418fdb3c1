"""The shared engine: PostgreSQL through psycopg 3, for several daemons on one store.

Values come and go in the same canonical text as on SQLite: the loaders below render uuid, jsonb
and timestamptz as text, and a text parameter takes the type of the column that it meets. A group
locks its project's head row first and then reads and writes at READ COMMITTED, so the writers of
one project are serial; reads are REPEATABLE READ READ ONLY.
"""

import contextlib
import json
import logging
import os
import queue
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
from psycopg import conninfo, errors, sql
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from coven.core import clock as clocks
from coven.core import failpoints
from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import check, engine
from coven.store.queries import queries
from coven.store.sqlite import AFTER_BEGIN, AFTER_COMMIT, BEFORE_COMMIT, MIGRATING
from coven.store.statements import Statement, load
from coven.store.transaction import Row, Value

log = logging.getLogger(__name__)

ours = load("coven.store", "postgres.sql")

CONNECT_SECONDS = 5
WRITERS = 4
RECONNECT_SECONDS = 5.0
FETCHED_ROWS = 20  # of a table that is read whole: each may have megabytes
LISTEN_SECONDS = 30.0
CHANNEL = "coven_events"
MIGRATION_LOCK = 0x436F76656E  # any number that is ours; one daemon migrates at a time
LOCK_MILLISECONDS = 10_000  # how long a group waits for another daemon's
IDLE_MILLISECONDS = 30_000  # a daemon that stands still in the middle of a group loses it
_OPTIONS = (
    "-c timezone=UTC -c datestyle=ISO -c synchronous_commit=on -c bytea_output=hex"
    f" -c lock_timeout={LOCK_MILLISECONDS}"
    f" -c idle_in_transaction_session_timeout={IDLE_MILLISECONDS}"
)
# A server that vanished without a word is noticed within half a minute.
_CONNECTING: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": CONNECT_SECONDS,
    "options": _OPTIONS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_RETRY = (errors.SerializationFailure, errors.DeadlockDetected)


class _InstantLoader(Loader):
    """timestamptz as the fixed text of `core.clock`."""

    def load(self, data: Any) -> str:
        text = bytes(data).decode()  # 2030-01-31 12:00:00[.ffffff]+00
        day, _, rest = text.partition(" ")
        whole, _, fraction = rest.removesuffix("+00").partition(".")
        return f"{day}T{whole}.{fraction:0<6}Z"


class _NumberLoader(Loader):
    """numeric, which is what a sum of whole numbers becomes: whole where it is whole."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class _BooleanLoader(Loader):
    """boolean as the 0 and 1 that SQLite answers."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


class _TextLoader(Loader):
    """Whatever PostgreSQL prints."""

    def load(self, data: Any) -> str:
        return bytes(data).decode()


def translate(error: psycopg.Error, statement: str = "") -> CovenError:
    """The error of ours that an error of PostgreSQL means."""
    told = error.diag.message_primary or (str(error).strip().splitlines() or [""])[0]
    match error:
        case errors.DiskFull():
            return engine.DiskFull()
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            return engine.StoreReadOnly(reason=told)
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return engine.StoreCorrupt(reason=told)
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return engine.StoreBusy()
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return engine.StoreUnavailable(reason=told)
        case _:
            return engine.StatementRefused(statement=statement, reason=told)


def _prepare(connection: "psycopg.Connection[Any]") -> None:
    """Teach a connection our canonical values."""
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_loader("timestamptz", _InstantLoader)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bool", _BooleanLoader)
    for name in ("uuid", "json", "jsonb"):
        adapters.register_loader(name, _TextLoader)


def _connect(url: str) -> "psycopg.Connection[Any]":
    try:
        connection = psycopg.connect(url, **_CONNECTING)
    except psycopg.Error as error:
        failure = translate(error)
        if error.sqlstate is None and "connection to server" not in failure.message:
            # libpq quotes the part of the address that it cannot use, and where a password was not
            # escaped that is a part of the password: neither told nor chained.
            raise engine.StoreUnavailable(reason="its address cannot be used") from None
        raise failure from error
    _prepare(connection)
    return connection


def check_url(url: str) -> bool:
    """Whether this can be the address of a PostgreSQL database at all."""
    try:
        conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return False
    return True


class PostgresLink:
    """One connection."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.connection = connection

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]:
        cursor = self._execute(statement, values)
        if cursor.description is None:
            return []
        found = cursor.fetchall()
        if not found:
            return []
        if not statement.columns:
            # In one step: another thread may be looking at the same statement.
            statement.columns[:] = [column.name for column in cursor.description]
        return [dict(zip(statement.columns, row, strict=True)) for row in found]

    def table(self, name: str) -> Iterator[Row | CovenError]:
        """One table in pieces; what comes after the first error stays unread."""
        text = ours["table"].postgres.replace("this_table", name.replace('"', '""'))
        try:
            # Who asked for it may be slow with what it has; and an error undoes this part only.
            self.connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            with self.connection.transaction(), self.connection.cursor("a_table") as cursor:
                cursor.itersize = FETCHED_ROWS
                cursor.execute(cast(LiteralString, text))
                names = [column.name for column in cursor.description or ()]
                for row in cursor:
                    yield dict(zip(names, row, strict=True))
        except psycopg.Error as error:
            yield translate(error, name)

    def run(self, statement: Statement, values: dict[str, Value]) -> int:
        return max(self._execute(statement, values).rowcount, 0)

    def _execute(
        self, statement: Statement, values: dict[str, Value]
    ) -> "psycopg.Cursor[tuple[Any, ...]]":
        try:
            return self.connection.execute(cast(LiteralString, statement.postgres), values)
        except _RETRY as error:
            raise engine.TryAgain(str(error)) from error
        except psycopg.Error as error:
            raise translate(error, statement.name) from error


_LOCK = cast(LiteralString, queries["lock"].postgres.replace("%(project)s", "{}"))


class PostgresWriter(PostgresLink):
    """A connection that writes groups; opened again when the server went away."""

    def __init__(self, url: str, *, clock: Clock) -> None:
        super().__init__(_connect(url))
        self._url = url
        self._clock = clock
        self._marked = False
        self._transaction_id: str | None = None

    def begin(self, project: ProjectId) -> tuple[engine.Head, datetime]:
        if self.connection.closed or self.connection.broken:
            self.connection.close()
            self.connection = _connect(self._url)
        self._marked, self._transaction_id = False, None
        found = self._lock(project)
        if found is None:
            self.run(queries["start"], {"project": project, "epoch": os.urandom(4).hex()})
            self._simple("COMMIT")
            found = self._lock(project)
        assert found is not None, "a head row that was just made is there"
        failpoints.hit(AFTER_BEGIN)
        return found

    def _lock(self, project: ProjectId) -> tuple[engine.Head, datetime] | None:
        # One round trip: the time is asked for in a statement of its own, after the row is ours.
        text = sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED; {}; SELECT clock_timestamp()").format(
            sql.SQL(_LOCK).format(sql.Literal(project))
        )
        cursor = self._simple(text)
        cursor.nextset()
        row = cursor.fetchone()
        cursor.nextset()
        told = cursor.fetchone()
        if row is None or told is None:
            return None
        epoch, seq, floor, last_at = row
        now = clocks.parse(told[0]) + self._clock.offset
        return engine.Head(epoch=epoch, seq=seq, floor=floor, last_at=last_at), now

    def savepoint(self) -> None:
        self._simple("RELEASE SAVEPOINT work; SAVEPOINT work" if self._marked else "SAVEPOINT work")
        self._marked = True

    def undo(self) -> None:
        self._simple("ROLLBACK TO SAVEPOINT work")

    def many(self, statement: Statement, values: Iterable[dict[str, Value]]) -> None:
        try:
            with self.connection.cursor() as cursor:
                cursor.executemany(cast(LiteralString, statement.postgres), list(values))
        except psycopg.Error as error:
            raise translate(error, statement.name) from error

    def commit(self) -> None:
        # Known before COMMIT is sent, so that its fate can be asked for if the answer is lost.
        row = self._simple("SELECT pg_current_xact_id()::text").fetchone()
        self._transaction_id = row[0] if row else None
        try:
            failpoints.hit(BEFORE_COMMIT)
        except failpoints.FailpointError as error:
            raise engine.StoreUnavailable(reason=str(error)) from error
        try:
            self.connection.execute("COMMIT")
            failpoints.hit(AFTER_COMMIT)
        except failpoints.FailpointError as error:
            raise engine.CommitUnresolved(str(error), landed=self._fate()) from error
        except psycopg.Error as error:
            failure = translate(error, "COMMIT")
            if not (self.connection.closed or self.connection.broken):
                raise failure from error
            raise engine.CommitUnresolved(failure.message, landed=self._fate()) from error

    def rollback(self) -> None:
        if self.connection.closed or self.connection.broken:
            return
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            with contextlib.suppress(psycopg.Error):
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()

    def _fate(self) -> bool | None:
        """Whether the transaction whose COMMIT got no answer is in the database."""
        waiting = threading.Event()
        deadline = self._clock.monotonic() + RECONNECT_SECONDS
        while self._clock.monotonic() < deadline:
            with contextlib.suppress(CovenError, psycopg.Error):
                self.connection.close()
                self.connection = _connect(self._url)
                row = self.connection.execute(
                    "SELECT pg_xact_status(%s::xid8)", (self._transaction_id,)
                ).fetchone()
                if row is not None and row[0] in ("committed", "aborted"):
                    return row[0] == "committed"
            waiting.wait(0.05)  # the old backend may not have noticed yet that we are gone
        return None

    def _simple(self, text: LiteralString | sql.Composed) -> "psycopg.Cursor[tuple[Any, ...]]":
        try:
            return self.connection.execute(text)
        except _RETRY as error:
            raise engine.TryAgain(str(error)) from error
        except psycopg.Error as error:
            raise translate(error, "a transaction command") from error


class PostgresMigrator:
    """A connection that holds the right to change the schema."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._link = PostgresLink(connection)

    def existing(self) -> bool:
        if self._link.rows(queries["has_meta"], {}):
            return True
        if self._link.rows(ours["tables_of_others"], {}):
            raise engine.ForeignDatabase(path="the schema kb of this database")
        return False

    def apply(self, statements: Sequence[str], record: engine.Record) -> None:
        try:
            with self._link.connection.transaction():
                for statement in statements:
                    self._link.connection.execute(cast(LiteralString, statement))
                for values in record[1]:
                    self._link.connection.execute(cast(LiteralString, record[0].postgres), values)
                failpoints.hit(MIGRATING)
        except psycopg.Error as error:
            raise translate(error, "a migration") from error

    def meta(self, statement: Statement) -> list[Row]:
        return self._link.rows(statement, {})

    def save_copy(self, name: str) -> None:
        """A server has its own backups, and they are not ours to make."""


class PostgresEngine:
    """A PostgreSQL database, or one that speaks like it."""

    name = "postgres"
    writers = WRITERS

    def __init__(self, url: str, *, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._closing = threading.Event()
        self._listener: threading.Thread | None = None
        self._ear: psycopg.Connection[Any] | None = None
        _connect(url).close()  # a wrong address is told at once and in our words
        self._idle: queue.SimpleQueue[psycopg.Connection[Any]] = queue.SimpleQueue()
        self._teller: psycopg.Connection[Any] | None = None

    def writer(self) -> PostgresWriter:
        return PostgresWriter(self._url, clock=self._clock)

    @contextmanager
    def reading(self) -> Generator[tuple[PostgresLink, datetime], None, None]:
        # As many connections as the store has reading threads. Not a pool of psycopg's: after an
        # outage that one waits ever longer before it tries again, and a read must not.
        connection, now = self._begin_reading()
        try:
            yield PostgresLink(connection), now
        except psycopg.Error as error:
            raise translate(error) from error
        finally:
            self._end_reading(connection)

    def _begin_reading(self) -> "tuple[psycopg.Connection[Any], datetime]":
        while True:
            try:
                connection, is_new = self._idle.get_nowait(), False
            except queue.Empty:
                connection, is_new = _connect(self._url), True
            try:
                cursor = connection.execute(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT clock_timestamp()"
                )
                cursor.nextset()
                row = cursor.fetchone()
            except psycopg.Error as error:
                connection.close()
                if is_new:
                    raise translate(error) from error
                continue  # it was lost while it lay idle, and so were perhaps its neighbours
            assert row is not None, "the time is always there"
            return connection, clocks.parse(row[0]) + self._clock.offset

    def _end_reading(self, connection: "psycopg.Connection[Any]") -> None:
        with contextlib.suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        if connection.closed or connection.broken or self._closing.is_set():
            connection.close()
        else:
            self._idle.put(connection)

    @contextmanager
    def migrating(self) -> Generator[PostgresMigrator, None, None]:
        connection = _connect(self._url)
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
            connection.execute("CREATE SCHEMA IF NOT EXISTS kb")
            yield PostgresMigrator(connection)
        except psycopg.Error as error:
            raise translate(error, "a migration") from error
        finally:
            connection.close()  # which gives the advisory lock back

    def listen(self, woken: Callable[[ProjectId, int], None]) -> None:
        self._listener = threading.Thread(
            target=self._listen, args=(woken,), name="coven-listen", daemon=True
        )
        self._listener.start()

    def _listen(self, woken: Callable[[ProjectId, int], None]) -> None:
        deaf = False
        while not self._closing.is_set():
            try:
                with contextlib.closing(_connect(self._url)) as connection:
                    deaf = False
                    self._hear(connection, woken)
            except (CovenError, psycopg.Error, ValueError) as error:
                if not deaf and not self._closing.is_set():
                    log.warning("cannot listen for other daemons' events: %s", error)
                deaf = True
                self._closing.wait(1.0)

    def _hear(
        self, connection: "psycopg.Connection[Any]", woken: Callable[[ProjectId, int], None]
    ) -> None:
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        self._ear = connection
        # What was told while nobody listened is made good at once.
        for row in PostgresLink(connection).rows(queries["heads"], {}):
            woken(ProjectId(row["project_id"]), row["seq"])
        while not self._closing.is_set():
            for notice in connection.notifies(timeout=LISTEN_SECONDS, stop_after=100):
                for project, seq in json.loads(notice.payload).items():
                    woken(ProjectId(project), int(seq))

    def tell(self, heads: dict[ProjectId, int]) -> None:
        try:
            if self._teller is None or self._teller.closed or self._teller.broken:
                self._teller = _connect(self._url)
            for start in range(0, len(heads), 50):  # a payload has at most 8,000 bytes
                part = dict(list(heads.items())[start : start + 50])
                self._teller.execute("SELECT pg_notify(%s, %s)", (CHANNEL, json.dumps(part)))
        except psycopg.Error as error:
            raise translate(error, "a notice") from error

    def backup(self, target: Path) -> int:
        raise engine.BackupElsewhere()

    def check(self) -> list[str]:
        """The log, what the server does not rely on itself, and the indexes where amcheck is there.

        Not looked at: references, which the server enforces; and what stands in the pages of a
        table beside its indexes, for which it has checksums.
        """
        try:
            with self.reading() as (link, _):
                problems = check.problems(link)
                if link.rows(queries["has_meta"], {}):
                    invalid = link.rows(ours["invalid"], {})
                    problems += [f"{row['kind']} {row['name']}: it is not valid" for row in invalid]
            return problems + self._check_indexes()
        except engine.StoreCorrupt as damage:
            return [damage.message]

    def _check_indexes(self) -> list[str]:
        with contextlib.closing(_connect(self._url)) as connection:
            link = PostgresLink(connection)
            found = link.rows(ours["index_checker"], {})
            if not found:
                log.warning("indexes were not looked at: that needs the extension amcheck")
                return []
            template = ours["check_index"]
            text = template.postgres.replace("this_function", found[0]["name"])
            statement = replace(template, postgres=text, columns=[])
            problems: list[str] = []
            for row in link.rows(ours["indexes"], {}):
                try:
                    link.rows(statement, {"name": row["name"]})
                except engine.StoreCorrupt as damage:
                    problems.append(f"index {row['name']}: {damage.message}")
            return problems

    def close(self) -> None:
        self._closing.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()
        if self._teller is not None:
            self._teller.close()
        if self._ear is not None and not self._ear.closed:
            # The listener waits for its socket, so its socket has to tell it.
            with (
                contextlib.suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(self._ear.fileno())) as ear,
            ):
                ear.shutdown(socket.SHUT_RDWR)
        if self._listener is not None:
            self._listener.join(timeout=2.0)
