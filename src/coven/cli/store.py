"""Store: check, dump and copy the database, through the daemon or without one."""

import asyncio
import shutil
from dataclasses import replace
from errno import EEXIST
from os import strerror
from pathlib import Path
from typing import Annotated

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import aside, busy, document, line
from coven.cli.programs import become

app = group("store", help="The database of this project.")


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


@command(app, "dump", example="coven store dump > everything.jsonl")
def dump(here: Here) -> None:
    """Write every row of the database as lines of JSON to standard output."""
    become(here, "store", "dump")


@command(app, "backup", example="coven store backup coven-backup.db")
async def backup(
    here: Here,
    path: Annotated[
        Path | None,
        typer.Argument(help="Where to; without it a new file in .coven/backups.", metavar="FILE"),
    ] = None,
) -> None:
    """Copy the database whole, while work goes on."""
    target = None if path is None else path.absolute()
    if target is not None and here.whereabouts().is_remote():
        raise typer.BadParameter(
            "the daemon keeps its copies on its own machine", param_hint="FILE"
        )
    if target is not None and target.exists():
        raise FileExistsError(EEXIST, strerror(EEXIST), str(target))
    if not await _is_running(here):
        become(here, "store", "backup", *([] if target is None else [str(target)]))
    async with here.coven() as coven:
        with busy("Copying the store …"):
            copy = await coven.store.backup()
            if target is not None:
                await asyncio.to_thread(shutil.move, copy.path, target)
                copy = replace(copy, path=str(target))
    if here.json:
        document(copy)
        return
    line(copy.path)
    aside(f"{copy.bytes} bytes.")


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
