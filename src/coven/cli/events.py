"""Events: what happened, and a live view of what happens."""

from typing import TYPE_CHECKING, Annotated

import typer

from coven.cli import output
from coven.cli.command import Here, command
from coven.core import clock, quantities

if TYPE_CHECKING:
    from coven.client import ConnectionChanged, Event, EventStream, Resync

BEGINNING = "1970-01-01T00:00:00.000000Z"

SinceOption = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="After this: a cursor, a timestamp, how long ago (10m), or `start`.",
        show_default=False,
    ),
]
TypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only these, such as notification.read, user.*"),
]
EntityOption = Annotated[
    str | None,
    typer.Option("--entity", metavar="KIND", help="Only events about this kind of thing."),
]


async def events(
    here: Here,
    *,
    since: SinceOption = None,
    kind: TypeOption = None,
    entity: EntityOption = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")
    ] = False,
) -> None:
    """Show what happened, oldest first.

    All that is kept, or what came after --since. With --follow and without --since it shows only
    what happens from now on. With --json each event is a line; `id` is the cursor for --since.
    """
    async with here.coven() as coven:
        if follow:
            stream = coven.events.follow(moment(since), entity=entity, type=kind)
            await _show(here, stream)
            return
        async for event in coven.events.list(moment(since), entity=entity, type=kind):
            _tell(here, event)


async def watch(
    here: Here,
    *,
    since: SinceOption = None,
    kind: TypeOption = None,
    entity: EntityOption = None,
) -> None:
    """Watch what happens, live, until Ctrl-C.

    Survives restarts of the daemon, misses nothing and repeats nothing. What it says about its
    connection is on the error stream.
    """
    async with here.coven() as coven:
        place = coven.address().place
        stream = coven.events.follow(
            moment(since),
            entity=entity,
            type=kind,
            on_connection=lambda change: _tell_connection(change, place),
        )
        await _show(here, stream)


def register(app: typer.Typer) -> None:
    """Put the commands at the top of the tree."""
    command(app, "events", example="coven events --since 10m --type 'user.*'")(events)
    command(app, "watch", example="coven watch --since 1h")(watch)


def moment(text: str | None) -> str | None:
    """What --since means: a cursor or a timestamp as it is, a duration as that long ago."""
    if text is None:
        return None
    if text == "start":
        return BEGINNING
    try:
        ago = quantities.parse_duration(text)
    except quantities.MalformedQuantity:
        return text
    return clock.render(clock.SystemClock().now() - ago)


async def _show(here: Here, stream: "EventStream") -> None:
    async with stream:
        async for happened in stream:
            _tell(here, happened)


def _tell(here: Here, happened: "Event | Resync") -> None:
    from coven.client import Resync

    if isinstance(happened, Resync):
        output.aside(
            f"Some events are not kept any more. `coven status` and {happened.snapshot} say how "
            f"things are; this view goes on after {happened.cursor}."
        )
        if here.json:
            output.json_line({"type": "resync", "id": happened.cursor})
    elif here.json:
        output.json_line(happened)
    else:
        output.event(happened)


def _tell_connection(change: "ConnectionChanged", place: str) -> None:
    if change.is_connected:
        output.aside(f"Connected to {place}.")
    else:
        output.aside(f"{change.reason} Waiting for the daemon; nothing will be missed.")
