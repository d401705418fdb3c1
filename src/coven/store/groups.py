"""Group commit: many functions, one fsync, each with its own savepoint and its own answer.

A group belongs to one project and holds at most 60 functions, because PostgreSQL caches 64
subtransactions. Nobody learns an outcome, good or bad, before the commit that holds it is durable:
a refusal, too, is an answer about state that must not vanish in a crash. When a whole group fails,
each of its functions runs again alone, so one caller's bad luck is not another's.
"""

import json
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

GROUP_MAX = 60
ATTEMPTS_MAX = 3
MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class Work:
    """One function that somebody waits for, and what became of it."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: Any = None
    error: BaseException | None = None


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


class LinkTransaction:
    """What a function sees while it runs; see `coven.store.transaction`."""

    __slots__ = ("_link", "emitted", "failed", "now", "project")

    def __init__(self, link: engine.Link, project: ProjectId, now: datetime) -> None:
        self._link = link
        self.project = project
        self.now = now
        self.emitted: list[Event] = []
        self.failed: CovenError | None = None

    def all(self, statement: Statement, **values: Value) -> list[Row]:
        values["project"] = self.project
        try:
            return self._link.rows(statement, values)
        except CovenError as error:
            self.failed = error
            raise

    def first(self, statement: Statement, **values: Value) -> Row | None:
        found = self.all(statement, **values)
        return found[0] if found else None

    def run(self, statement: Statement, **values: Value) -> int:
        values["project"] = self.project
        try:
            return self._link.run(statement, values)
        except CovenError as error:
            # A function cannot go on after a refused statement: on PostgreSQL its savepoint is
            # lost, and it must mean the same on both engines.
            self.failed = error
            raise

    def emit(self, event: Event) -> None:
        self.emitted.append(event)


class GroupFailed(Exception):  # noqa: N818 - never leaves this module
    """Nothing of the group is in the database."""


def write(writer: engine.Writer, project: ProjectId, works: list[Work]) -> Committed:
    """Run the functions and commit them; every `Work` has its outcome afterwards."""
    try:
        return _attempt(writer, project, works)
    except GroupFailed as failure:
        if len(works) == 1:
            return _alone(writer, project, works[0], failure)
    committed = Committed(project, "")
    for work in works:
        part = _alone(writer, project, work, None)
        committed.epoch = part.epoch or committed.epoch
        committed.events += part.events
        committed.look |= part.look
    return committed


def _alone(
    writer: engine.Writer, project: ProjectId, work: Work, failure: GroupFailed | None
) -> Committed:
    tries = ATTEMPTS_MAX if failure is None else ATTEMPTS_MAX - 1
    for _ in range(tries):
        try:
            return _attempt(writer, project, [work])
        except GroupFailed as again:
            failure = again
    assert failure is not None
    cause = failure.__cause__
    work.value = None
    work.error = cause if isinstance(cause, CovenError) else engine.StoreBusy()
    return Committed(project, "")


def _attempt(writer: engine.Writer, project: ProjectId, works: list[Work]) -> Committed:
    try:
        head, now = writer.begin(project)
        emitted: list[Event] = []
        for work in works:
            _run(writer, LinkTransaction(writer, project, now), work, emitted)
        committed = _number(writer, project, head, now, emitted)
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


def _run(
    writer: engine.Writer, tx: LinkTransaction, work: Work, emitted: list[Event]
) -> None:
    writer.savepoint()
    work.value = work.error = None
    try:
        work.value = work.function(tx, *work.args, **work.kwargs)
        if tx.failed is not None:
            raise tx.failed
    except engine.TryAgain:
        raise
    except Exception as error:  # noqa: BLE001 - a boundary: the error goes to the caller
        work.value, work.error = None, error
        if isinstance(error, engine.DiskFull | engine.StoreUnavailable | engine.StoreBusy):
            raise  # not this function's fault: the group goes back, and each runs alone
        writer.undo()
    else:
        emitted += tx.emitted


def _number(
    writer: engine.Writer, project: ProjectId, head: engine.Head, now: datetime, emitted: list[Event]
) -> Committed:
    """Give the events their numbers and their times, and write them."""
    committed = Committed(project, head.epoch)
    if not emitted:
        return committed
    at = max(now, clocks.parse(head.last_at) + MICROSECOND)
    seq = head.seq
    rows: list[dict[str, Value]] = []
    for event in emitted:
        seq += 1
        data = json.dumps(event.data(), separators=(",", ":"), ensure_ascii=False)
        stored = Stored(
            seq=seq,
            type=event.type,
            entity=event.entity,
            entity_id=event.entity_id,
            timestamp=clocks.render(at),
            data=data,
        )
        committed.events.append(stored)
        rows.append(
            {
                "project": project,
                "seq": seq,
                "type": stored.type,
                "entity": stored.entity,
                "entity_id": stored.entity_id,
                "timestamp": stored.timestamp,
                "data": data,
            }
        )
        at += MICROSECOND
    writer.many(queries["append"], rows)
    last = committed.events[-1].timestamp
    writer.run(queries["advance"], {"project": project, "seq": seq, "last_at": last})
    return committed


def _unresolved(
    error: engine.CommitUnresolved, works: list[Work], project: ProjectId
) -> Committed:
    if error.landed is False:
        raise GroupFailed from engine.StoreUnavailable(reason=error.reason)
    if error.landed is None:
        for work in works:
            work.value, work.error = None, engine.OutcomeUnknown(reason=error.reason)
    return Committed(project, "", look=True)

