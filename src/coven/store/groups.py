"""Group commit: many functions, one fsync, each with its own savepoint and its own answer.

A group belongs to one project and holds at most 60 functions, because PostgreSQL caches 64
subtransactions. Nobody learns an outcome, good or bad, before the commit that holds it is durable:
a refusal, too, is an answer about state that must not vanish in a crash. When a whole group fails,
each of its functions runs again alone, so one caller's bad luck is not another's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from coven.core import clock as clocks
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import engine
from coven.store.queries import queries
from coven.store.statements import Statement
from coven.store.transaction import Event, Row, Value
from coven.store.values import check, render_event

GROUP_MAX = 60
ATTEMPTS_MAX = 3
BEGINNINGS_MAX = 2
MICROSECOND = timedelta(microseconds=1)

# What the store suffers, not the function: the group goes back, and each runs alone.
_TROUBLE = (engine.TryAgain, engine.DiskFull, engine.StoreUnavailable, engine.StoreBusy)
# What may be gone when the same thing is tried again at once.
_PASSING = (engine.TryAgain, engine.StoreUnavailable, engine.StoreBusy)


@dataclass(slots=True)
class Work:
    """One function that somebody waits for, and what became of it."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: Any = None
    error: BaseException | None = None
    settled: bool = False
    """Its outcome is durable, whatever becomes of the rest of its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An event as it stands in the log."""

    seq: int
    type: str
    entity: str
    entity_id: str
    timestamp: str
    data: str


@dataclass(slots=True)
class Committed:
    """What a commit put into the log of one project."""

    project: ProjectId
    epoch: str
    events: list[Stored] = field(default_factory=list[Stored])
    look: bool = False
    """The events are in the log, or may be, but not in this list."""


class _Ended:
    """What a transaction holds when its function has returned: a lazy result must not use it."""

    def rows(self, statement: Statement, values: dict[str, Value]) -> list[Row]:
        raise engine.StatementRefused(statement=statement.name, reason="the transaction has ended")

    def run(self, statement: Statement, values: dict[str, Value]) -> int:
        raise engine.StatementRefused(statement=statement.name, reason="the transaction has ended")


_ENDED = _Ended()


class LinkView:
    """What a reading function sees while it runs; see `coven.store.transaction`."""

    __slots__ = ("_link", "failed", "now", "project")

    def __init__(self, link: engine.Link, project: ProjectId, now: datetime) -> None:
        self._link = link
        self.project = project
        self.now = now
        self.failed: CovenError | engine.TryAgain | None = None

    def all(self, statement: Statement, **values: Value) -> list[Row]:
        return self._ask(self._link.rows, statement, values)

    def first(self, statement: Statement, **values: Value) -> Row | None:
        found = self._ask(self._link.rows, statement, values)
        return found[0] if found else None

    def end(self) -> None:
        """The function has returned: nothing that it left behind can ask any more."""
        self._link = _ENDED

    def _ask(
        self,
        ask: Callable[[Statement, dict[str, Value]], Any],
        statement: Statement,
        values: dict[str, Value],
    ) -> Any:
        if self.failed is not None:
            # A function cannot go on after a refused statement. On PostgreSQL its savepoint is
            # lost; on SQLite a full disk has ended the transaction, and what followed would be
            # committed alone.
            raise self.failed
        values["project"] = self.project
        check(values)
        try:
            return ask(statement, values)
        except (CovenError, engine.TryAgain) as error:
            self.failed = error
            raise


class LinkTransaction(LinkView):
    """What a writing function sees while it runs."""

    __slots__ = ("emitted",)

    def __init__(self, link: engine.Link, project: ProjectId, now: datetime) -> None:
        super().__init__(link, project, now)
        self.emitted: list[dict[str, Value]] = []

    def run(self, statement: Statement, **values: Value) -> int:
        return self._ask(self._link.run, statement, values)

    def emit(self, event: Event) -> None:
        # Rendered here, not when the group is numbered: an event that cannot be kept is the
        # failure of this function, not of the whole group.
        told: dict[str, Value] = {
            "type": event.type,
            "entity": event.entity,
            "entity_id": event.entity_id,
        }
        check(told)
        told["data"] = render_event(event.type, event.data())
        self.emitted.append(told)


class GroupFailed(Exception):
    """Nothing of the group is in the database; the cause says why."""


class NotBegun(GroupFailed):
    """The same, and none of its functions has run."""


def write(writer: engine.Writer, project: ProjectId, works: list[Work]) -> Committed:
    """Run the functions and commit them; every `Work` has its outcome afterwards."""
    result = _try(writer, project, works)
    if isinstance(result, Committed):
        return result
    committed = Committed(project, "")
    if len(works) == 1 or isinstance(result, NotBegun):
        _refuse(works, result)
        return committed
    for index, work in enumerate(works):
        part = _try(writer, project, [work])
        if isinstance(part, NotBegun):
            # Where not even a beginning can be made, sixty callers need not wait sixty times.
            _refuse(works[index:], part)
            break
        if isinstance(part, GroupFailed):
            _refuse([work], part)
            continue
        work.settled = True
        committed.epoch = part.epoch or committed.epoch
        committed.events += part.events
        committed.look |= part.look
    return committed


def _try(writer: engine.Writer, project: ProjectId, works: list[Work]) -> Committed | GroupFailed:
    """Attempt it as often as it makes sense to attempt the very same thing again."""
    attempts, beginnings = 0, 0
    while True:
        try:
            return _attempt(writer, project, works)
        except NotBegun as failure:
            beginnings += 1
            if beginnings == BEGINNINGS_MAX or not isinstance(failure.__cause__, _PASSING):
                return failure
        except GroupFailed as failure:
            attempts += 1
            alone = len(works) == 1
            if not alone or attempts == ATTEMPTS_MAX or not isinstance(failure.__cause__, _PASSING):
                return failure


def _refuse(works: list[Work], failure: GroupFailed) -> None:
    cause = failure.__cause__
    for work in works:
        work.value = None
        work.error = cause if isinstance(cause, CovenError) else engine.StoreBusy()


def _attempt(writer: engine.Writer, project: ProjectId, works: list[Work]) -> Committed:
    try:
        begun = _Begun(writer, project)
    except (CovenError, engine.TryAgain) as error:
        writer.rollback()
        raise NotBegun from error
    try:
        for work in works:
            begun.run(work)
        committed = begun.number()
        writer.commit()
    except engine.CommitUnresolved as error:
        writer.rollback()
        return _unresolved(error, works, project)
    except (CovenError, engine.TryAgain) as error:
        writer.rollback()
        raise GroupFailed from error
    except BaseException:
        writer.rollback()
        raise
    return committed


class _Begun:
    """A group's transaction, from its beginning until it can be committed."""

    def __init__(self, writer: engine.Writer, project: ProjectId) -> None:
        self._writer = writer
        self._project = project
        self._head, self._now = writer.begin(project)
        self._emitted: list[dict[str, Value]] = []

    def run(self, work: Work) -> None:
        """Run one function under its own savepoint; its outcome is in the work then."""
        self._writer.savepoint()
        work.value = work.error = None
        tx = LinkTransaction(self._writer, self._project, self._now)
        try:
            work.value = work.function(tx, *work.args, **work.kwargs)
        except Exception as error:  # noqa: BLE001 - a boundary: the error goes to the caller
            work.error = error
        except BaseException as error:  # noqa: BLE001 - the same, for what would end the daemon
            work.error = RuntimeError(f"a transaction ended with {type(error).__name__}")
            work.error.__cause__ = error
        finally:
            tx.end()
        if isinstance(tx.failed, _TROUBLE):
            raise tx.failed
        if work.error is None:
            work.error = tx.failed  # refused by the database, swallowed by the function
        if work.error is not None:
            work.value = None
            self._writer.undo()
        else:
            self._emitted += tx.emitted

    def number(self) -> Committed:
        """Give the events their numbers and their times, and write them."""
        committed = Committed(self._project, self._head.epoch)
        if not self._emitted:
            return committed
        first = max(self._now, clocks.parse(self._head.last_at) + MICROSECOND)
        seq = self._head.seq
        for told, at in zip(self._emitted, _instants(first, len(self._emitted)), strict=True):
            seq += 1
            told["project"], told["seq"], told["timestamp"] = self._project, seq, at
            committed.events.append(_stored(told))
        self._writer.many(queries["append"], self._emitted)
        last = committed.events[-1].timestamp
        self._writer.run(
            queries["advance"], {"project": self._project, "seq": seq, "last_at": last}
        )
        return committed


def _instants(first: datetime, count: int) -> list[str]:
    """So many instants, each a microsecond after the one before, as text."""
    micros = first.microsecond
    if micros + count > 1_000_000:  # somewhere a second ends
        return [clocks.render(first + number * MICROSECOND) for number in range(count)]
    second = clocks.render(first)[:-7]
    return [f"{second}{micro:06}Z" for micro in range(micros, micros + count)]


def _stored(told: dict[str, Any]) -> Stored:
    return Stored(
        seq=told["seq"],
        type=told["type"],
        entity=told["entity"],
        entity_id=told["entity_id"],
        timestamp=told["timestamp"],
        data=told["data"],
    )


def _unresolved(error: engine.CommitUnresolved, works: list[Work], project: ProjectId) -> Committed:
    if error.landed is False:
        raise GroupFailed from engine.StoreUnavailable(reason=error.reason)
    if error.landed is None:
        for work in works:
            work.value, work.error = None, engine.OutcomeUnknown(reason=error.reason)
    return Committed(project, "", look=True)
