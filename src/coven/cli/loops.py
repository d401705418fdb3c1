"""Loops: the periodic passes of the daemon."""

from typing import Annotated

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import busy, document, line, table

app = group("loop", help="The periodic passes of the daemon.")


@command(app, "list", example="coven loop list")
async def list_(here: Here) -> None:
    """List the loops and what they say about themselves."""
    async with here.coven() as coven:
        loops = await coven.loops.list()
    if here.json:
        document({"items": loops})
        return
    rows = [
        [loop.name, loop.every, loop.passes, loop.failures, loop.last_run_at, loop.last_error]
        for loop in loops
    ]
    table(["name", "every", "passes", "failures", "last run", "last error"], rows)


@command(app, "run", example="coven loop run expired_records")
async def run(
    here: Here,
    name: Annotated[str, typer.Argument(help="The loop's name.", show_default=False)],
) -> None:
    """Run one pass of a loop now, and wait for it."""
    async with here.coven() as coven:
        with busy(f"Running {name} …"):
            loop = await coven.loops.run(name)
    if here.json:
        document(loop)
        return
    counts = ", ".join(f"{what} {count}" for what, count in loop.last_counts.items())
    line(f"Ran {name}: {counts or 'nothing to do'}.")
