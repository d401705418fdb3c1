"""Store: check, dump and copy the database, through the daemon or without one."""

import asyncio
import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import busy, document, line
from coven.cli.programs import become
from coven.core import targets
from coven.core.errors import CovenError, Kind

app = group("store", help="The database of this project.")


class BackupNotMoved(CovenError):
    """The copy is made and whole, but {path} could not be moved to {target}: {reason}."""

    code = "BACKUP_NOT_MOVED"
    kind = Kind.UNAVAILABLE
    remedy = "Move it yourself, or leave it where it is: it is a backup like any other."


@command(app, "check", example="coven store check")
async def check(here: Here) -> None:
    """Read the whole database and say what is wrong with it; exit code 1 if anything is."""
    if not await _is_running(here):
        become(here, "store", "check")
    async with here.coven() as coven:
        with busy("Checking the whole store …"):
            found = await coven.store.check()
    if here.json:
        document(found)
    else:
        for problem in found.problems:
            line(problem)
        line("The store is sound." if found.ok else "The store is damaged.")
    if not found.ok:
        raise typer.Exit(1)


@command(app, "dump", example="coven store dump everything.jsonl", local=True)
def dump(
    here: Here,
    path: Annotated[
        Path | None,
        typer.Argument(help="A new file; without it, standard output.", metavar="FILE"),
    ] = None,
) -> None:
    """Write every row of the database as lines of JSON. Works beside a daemon and without one."""
    become(here, "store", "dump", *_named(path))


@command(app, "backup", example="coven store backup coven-backup.db")
async def backup(
    here: Here,
    path: Annotated[
        Path | None,
        typer.Argument(help="A new file; without it, one in .coven/backups.", metavar="FILE"),
    ] = None,
) -> None:
    """Copy the database whole, while work goes on."""
    target = None if path is None else path.absolute()
    if target is not None:
        if here.whereabouts().is_remote():
            raise typer.BadParameter(
                "the daemon keeps its copies on its own machine", param_hint="FILE"
            )
        targets.require_new(target)
    if not await _is_running(here):
        become(here, "store", "backup", *_named(target))
    async with here.coven() as coven:
        with busy("Copying the store …"):
            copy = await coven.store.backup()
            if target is not None:
                await asyncio.to_thread(_move, Path(copy.path), target)
                copy = replace(copy, path=str(target))
    if here.json:
        document(copy)
    else:
        line(f"{copy.path} ({copy.bytes} bytes)")


def _named(path: Path | None) -> list[str]:
    return [] if path is None else [str(path.absolute())]


def _move(source: Path, target: Path) -> None:
    """Move a file to a new place, over nothing that came there meanwhile."""
    try:
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:  # another disk, or one without links
            _copy(source, target)
        _sync(target.parent)
    except OSError as error:
        reason = error.strerror or "unknown"
        raise BackupNotMoved(path=str(source), target=str(target), reason=reason) from error
    with contextlib.suppress(OSError):  # then there are two copies, which is one more than asked
        source.unlink()


def _copy(source: Path, target: Path) -> None:
    with open(source, "rb") as reading:
        made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(made, "wb") as writing:
                shutil.copyfileobj(reading, writing)
                writing.flush()
                os.fsync(writing.fileno())
        except BaseException:
            target.unlink()
            raise


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def _is_running(here: Here) -> bool:
    from coven.client import DaemonNotRunning

    if here.whereabouts().is_remote():
        return True
    async with here.coven() as coven:
        try:
            await coven.health()
        except DaemonNotRunning:
            return False
    return True
