"""Upkeep: the loops, retention, and the care of the database, for people and scripts."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as PathPart
from pydantic import Field

from coven.core import clock as clocks
from coven.core import quantities
from coven.daemon import files, offline
from coven.daemon.daemon import Daemon
from coven.daemon.loops import Record
from coven.daemon.model import BackupExists, LoopUnknown
from coven.daemon.retention import Due
from coven.doors import http
from coven.doors.callers import AdministeringDaemon, Reading
from coven.doors.openapi import raises
from coven.doors.shapes import Input, InstantText, Listing, Output


class LoopView(Output):
    """Some periodic work, and how it fared since the daemon started."""

    name: str
    meaning: str
    every: str = Field(description="How often it runs.", examples=["1h"])
    passes: int
    failures: int
    last_run_at: InstantText | None
    last_counts: dict[str, int]
    last_error: str | None


class RuleView(Output):
    """What one retention rule would delete, or has deleted, in one project."""

    name: str
    table: str
    meaning: str
    older_than: str = Field(description="How long things are kept.", examples=["1d"])
    project: str
    rows: int


class RetentionView(Output):
    """A sweep of every rule, planned or done."""

    rules: list[RuleView]
    rows: int


class CheckView(Output):
    """Whether the database is in good order."""

    ok: bool
    problems: list[str]


class BackupDraft(Input):
    """Where a backup goes."""

    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="A file name in `.coven/backups`; without it one with the time.",
    )


class BackupView(Output):
    """A copy of the embedded store."""

    path: str
    bytes: int


def routes(daemon: Daemon) -> APIRouter:
    """The routes of upkeep."""
    router = http.router("/api/v1", tag="upkeep", claims_keys=False)
    _add_loops(router, daemon)
    _add_retention(router, daemon)
    _add_store(router, daemon)
    return router


def _add_loops(router: APIRouter, daemon: Daemon) -> None:
    @router.get("/loops", summary="Every loop and how it fared")
    async def list_loops(caller: Reading) -> Listing[LoopView]:
        loops = [_loop(record) for record in daemon.loops.all()]
        return Listing[LoopView](items=loops, next_cursor=None, has_more=False)

    @router.post(
        "/loops/{name}/run",
        summary="Make one pass of a loop now",
        responses=raises(LoopUnknown),
    )
    async def run_loop(
        caller: AdministeringDaemon, name: Annotated[str, PathPart(description="Which loop.")]
    ) -> LoopView:
        return _loop(await daemon.loops.run(name))


def _add_retention(router: APIRouter, daemon: Daemon) -> None:
    @router.post("/retention/plan", summary="What a sweep would delete")
    async def plan_retention(caller: Reading) -> RetentionView:
        return _retention(await daemon.retention.plan(only=caller.principal.project))

    @router.post("/retention/run", summary="Delete what is too old")
    async def run_retention(caller: AdministeringDaemon) -> RetentionView:
        return _retention(await daemon.retention.run())


def _add_store(router: APIRouter, daemon: Daemon) -> None:
    @router.post("/store/check", summary="Look for damage")
    async def check_store(caller: AdministeringDaemon) -> CheckView:
        problems = await daemon.store.check()
        return CheckView(ok=not problems, problems=problems)

    @router.post("/store/backup", summary="Copy the embedded store", responses=raises(BackupExists))
    async def back_up_store(
        caller: AdministeringDaemon, draft: BackupDraft | None = None
    ) -> BackupView:
        target = await asyncio.to_thread(_target, daemon, draft.name if draft else None)
        size = await daemon.store.backup(target)
        return BackupView(path=str(target), bytes=size)


def _target(daemon: Daemon, name: str | None) -> Path:
    chosen = offline.default_target(daemon.settings, daemon.clock)
    files.make_state_directory(chosen.parent)
    if name is not None:
        chosen = chosen.with_name(name)
    if chosen.exists() or chosen.is_symlink():
        raise BackupExists(name=chosen.name)
    return chosen


def _loop(record: Record) -> LoopView:
    return LoopView(
        name=record.loop.name,
        meaning=record.loop.meaning,
        every=quantities.render_duration(record.loop.every),
        passes=record.passes,
        failures=record.failures,
        last_run_at=_instant(record.last_run_at),
        last_counts=record.last_counts,
        last_error=record.last_error,
    )


def _instant(instant: datetime | None) -> str | None:
    return clocks.render(instant) if instant else None


def _retention(found: list[Due]) -> RetentionView:
    rules = [
        RuleView(
            name=due.rule.name,
            table=due.rule.table,
            meaning=due.rule.meaning,
            older_than=quantities.render_duration(due.rule.older_than),
            project=due.project,
            rows=due.rows,
        )
        for due in found
    ]
    return RetentionView(rules=rules, rows=sum(rule.rows for rule in rules))
