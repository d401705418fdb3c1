"""The tree of commands, put together from one file for each group."""

from functools import cache
from typing import Annotated, Any

import typer

from coven.cli import (
    completion,
    daemon,
    events,
    logs,
    loops,
    notifications,
    retention,
    store,
    tokens,
)
from coven.cli.command import DirectoryOption, Here, JsonOption, TokenOption, UrlOption


def _tell_version(asked: bool) -> None:
    if asked:
        from coven import __version__

        print(f"coven {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="coven",
    help="A durable runtime for AI coding agents: one daemon for each project.",
    epilog="\b\nBegin with:\n  coven up        start the daemon here\n"
    "  coven watch     see what happens, in another terminal",
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def whole(
    context: typer.Context,
    *,
    directory: DirectoryOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_tell_version, help="Which one it is."),
    ] = False,
) -> None:
    context.obj = Here(
        directory=directory, url=url, token=token, json=as_json, tree=context.command
    )


@cache
def command() -> Any:
    """The whole command line as one object."""
    return typer.main.get_command(app)


daemon.register(app)
logs.register(app)
events.register(app)
for _group in (
    notifications.app,
    tokens.app,
    loops.app,
    retention.app,
    store.app,
    completion.app,
):
    app.add_typer(_group)
