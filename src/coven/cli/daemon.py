"""The daemon of this project: start it, ask how it is, stop it, and what works without it."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import aside, document, line
from coven.cli.programs import become
from coven.core.errors import CovenError, Kind

if TYPE_CHECKING:
    from coven.client import Coven

STOP_SECONDS_MAX = 30.0
STATUS_SECONDS_MAX = 10.0


class DaemonSilent(CovenError):
    """The daemon in {place} has not answered within {seconds} seconds."""

    code = "DAEMON_SILENT"
    kind = Kind.UNAVAILABLE
    remedy = "`coven logs` shows what it does; its pid is in `.coven/covend.json`."


class DaemonStillRunning(CovenError):
    """The daemon in {place} has not ended within {seconds} seconds."""

    code = "DAEMON_STILL_RUNNING"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Wait and look again with `coven status`. `kill -9` of its pid (in `.coven/covend.json`) "
        "loses nothing that was acknowledged."
    )


def up(
    here: Here,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Port on 127.0.0.1; 0 picks a free one."
        ),
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="sqlite, or postgresql://… for a shared one.")
    ] = None,
    *,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew beside files of the older layout.")
    ] = False,
) -> None:
    """Start the daemon here, in the foreground.

    Prints its URL, where its token is, and what to try. Ctrl-C stops it.
    """
    arguments = ["up"]
    if port is not None:
        arguments += ["--port", str(port)]
    if store is not None:
        arguments += ["--store", store]
    if fresh:
        arguments += ["--fresh"]
    become(here, *arguments)


async def status(here: Here) -> None:
    """Say whether the daemon runs, and where."""
    async with here.coven() as coven:
        try:
            async with asyncio.timeout(STATUS_SECONDS_MAX):
                health = await coven.health()
        except TimeoutError as error:
            raise DaemonSilent(place=coven.address().place, seconds=STATUS_SECONDS_MAX) from error
        address = coven.address()
    if here.json:
        told = {"running": True, "place": address.place, "url": _url_of(here, address.url)}
        socket = str(address.socket) if address.socket else None
        document({**told, "socket": socket, **_fields(health)})
        return
    line(f"coven {health.version} is running ({health.status}), pid {health.pid}")
    line(f"  place   {address.place}")
    line(f"  url     {_url_of(here, address.url)}")
    if address.socket:
        line(f"  socket  {address.socket}")
    line(f"  up for  {_duration(health.uptime_seconds)}")


async def stop(
    here: Here,
    seconds: Annotated[
        float,
        typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait for its end."),
    ] = STOP_SECONDS_MAX,
) -> None:
    """Stop the daemon and wait until it is gone.

    It ends what it is doing first. Where none is running, that is fine too.
    """
    from coven.client import DaemonNotRunning

    async with here.coven() as coven:
        try:
            async with asyncio.timeout(seconds):
                pid = await _ended(here, coven)
        except TimeoutError as error:
            raise DaemonStillRunning(place=coven.address().place, seconds=seconds) from error
        except DaemonNotRunning as error:
            if here.json:
                document({"stopped": False, "pid": None})
            else:
                line(error.message)
            return
    if here.json:
        document({"stopped": True, "pid": pid})
    else:
        line(f"The daemon (pid {pid}) has stopped.")


def doctor(here: Here) -> None:
    """Say what works on this machine and what is missing.

    For what is missing it says what to install.
    """
    become(here, "doctor")


def migrate(here: Here) -> None:
    """Look for files of the older layout; nothing is moved yet.

    Moving them into the store comes with the tasks. Until then this says which files there are, and
    ends with 1 if there are any. They are never changed.
    """
    become(here, "migrate")


def show_config(here: Here) -> None:
    """Show every setting, its value, and where the value came from."""
    become(here, "config", "show")


def register(app: typer.Typer) -> None:
    """Put these commands at the top of the tree."""
    command(app, "up", example="coven up --port 0", local=True)(up)
    command(app, "status", example="coven status --json")(status)
    command(app, "stop", example="coven stop --timeout 60")(stop)
    command(app, "doctor", example="coven doctor", local=True)(doctor)
    command(app, "migrate", example="coven migrate", local=True)(migrate)
    config = group("config", help="The settings of this project.")
    command(config, "show", example="coven config show", local=True)(show_config)
    app.add_typer(config)


async def _ended(here: Here, coven: "Coven") -> int:
    """Ask the daemon to go and wait for its end; the pid that it had."""
    from coven.cli.endings import Ending
    from coven.client import ConnectionLost

    pid = (await coven.health()).pid
    ending = Ending(None if here.whereabouts().is_remote() else pid)
    try:
        await coven.shutdown()
    except ConnectionLost:
        aside("The daemon went before it answered.")
    await ending.wait(coven.health)
    return pid


def _fields(value: Any) -> dict[str, Any]:
    from coven.client.values import render

    return render(value)


def _url_of(here: Here, reached: str) -> str:
    """The URL that others can use; over the socket the client needs none."""
    from coven.client.address import announcement

    if here.whereabouts().is_remote():
        return reached
    return str(announcement(here.project()).get("url") or "")


def _duration(seconds: float) -> str:
    from datetime import timedelta

    from coven.core.quantities import render_duration

    return render_duration(timedelta(seconds=int(seconds)))
