"""Retention: sweeps by the rooms' rules, in every project, at the start and every hour."""

from dataclasses import dataclass
from datetime import timedelta

from coven.config import Settings
from coven.core import failpoints
from coven.core.ids import ProjectId
from coven.daemon.loops import Counts, Loop
from coven.store import Store, Transaction, View, events, retention
from coven.store.retention import Rule

EVERY = timedelta(hours=1)

BETWEEN = failpoints.declare("retention.batch.after", "one batch is deleted, the next is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What one rule would delete, or has deleted, in one project."""

    rule: Rule
    project: ProjectId
    rows: int


class Retention:
    """All rules, and the two things to do with them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self.rules = rules(settings)

    async def plan(self, *, only: ProjectId | None = None) -> list[Due]:
        """What a run would delete now, in every project or only in one."""
        due: list[Due] = []
        for project in [only] if only else await self._store.read(events.projects):
            for rule in self.rules:
                rows = await self._store.of(project).read(_count, rule)
                due.append(Due(rule=rule, project=project, rows=rows))
        return due

    async def run(self) -> list[Due]:
        """Delete what is too old, batch by batch; what was deleted."""
        done: list[Due] = []
        for project in await self._store.read(events.projects):
            for rule in self.rules:
                rows = 0
                while batch := await self._store.of(project).write(_sweep, rule):
                    failpoints.hit(BETWEEN)
                    rows += batch
                done.append(Due(rule=rule, project=project, rows=rows))
        return done

    def loop(self) -> Loop:
        """The loop that runs it."""
        return Loop(
            name="expired_records",
            meaning="Deletes what is older than its retention: events and idempotency keys.",
            every=EVERY,
            run_once=self._run_once,
        )

    async def _run_once(self) -> Counts:
        counts: Counts = {}
        for due in await self.run():
            counts[due.rule.name] = counts.get(due.rule.name, 0) + due.rows
        return counts


def rules(settings: Settings) -> list[Rule]:
    """Every rule of every room, in the order in which they are swept."""
    return [*retention.rules(event_retention=settings.event_retention)]


def _count(view: View, rule: Rule) -> int:
    return rule.count(view, view.now - rule.older_than)


def _sweep(tx: Transaction, rule: Rule) -> int:
    return rule.sweep(tx, tx.now - rule.older_than)
