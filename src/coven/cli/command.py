"""Commands: what every one of them shares, said once.

A command is a function whose first parameter is `Here`: where the daemon is and how to answer. The
decorator adds `--json`, `--dir`, `--url` and `--token` to it, so that they may stand before or
after its name, runs it when it is a coroutine, and appends its example to its help.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coven.core.errors import CovenError, Kind
from coven.core.exits import BROKEN_PIPE
from coven.core.terminal import hang_up

if TYPE_CHECKING:
    from coven.client import Coven
    from coven.client.address import Whereabouts

PATIENCE_SECONDS = 5.0

DirectoryOption = Annotated[
    Path | None,
    typer.Option("--dir", help="The project directory.", metavar="DIR", show_default=False),
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url", help="The daemon's URL (or COVEN_URL).", metavar="URL", show_default=False
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", help="The token for it (or COVEN_TOKEN).", metavar="TOKEN", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with JSON.")]


class LocalCommand(CovenError):
    """`{command}` looks at files of this machine, so it cannot follow {given}."""

    code = "LOCAL_COMMAND"
    kind = Kind.INVALID
    remedy = (
        "Run it on the daemon's machine, in the project directory, without them; or name the "
        "directory with --dir, which also goes before COVEN_URL."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where the daemon is, and how to answer."""

    directory: Path | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    json: bool = False
    tree: Any = field(default=None, repr=False)
    """The whole command line, for who writes about it."""

    def coven(self) -> "Coven":
        """The client of the daemon that is meant."""
        from coven.client import Coven

        return Coven(
            self.directory, url=self.url, token=self.token, patience_seconds=PATIENCE_SECONDS
        )

    def whereabouts(self) -> "Whereabouts":
        """Where the daemon is looked for."""
        from coven.client.address import Whereabouts

        return Whereabouts(directory=self.directory, url=self.url, token=self.token)

    def project(self) -> Path:
        """The project directory: named, found upwards, or this one."""
        return self.whereabouts().project() or Path.cwd()

    def require_local(self, command: str) -> None:
        """Refuse to answer about another daemon than the one that was named."""
        named = {"--url": self.url, "--token": self.token}
        given = [option for option, value in named.items() if value]
        if not given and self.whereabouts().is_remote():
            given = ["COVEN_URL"]
        if given:
            raise LocalCommand(command=command, given=" and ".join(given))

    def narrowed(self, given: dict[str, Any]) -> "Here":
        """The same with what was said after the command's name."""
        return Here(
            directory=given.pop("directory") or self.directory,
            url=given.pop("url") or self.url,
            token=given.pop("token") or self.token,
            json=given.pop("as_json") or self.json,
            tree=self.tree,
        )


def group(name: str, *, help: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(name=name, help=help, rich_markup_mode=None, add_completion=False)


def command(
    app: typer.Typer, name: str, *, example: str, local: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a command of `app`; its docstring is its help.

    A `local` command looks at files and asks no daemon, so it refuses --url and --token.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(context: typer.Context, **given: Any) -> None:
            outer = context.obj if isinstance(context.obj, Here) else Here()
            here = outer.narrowed(given)
            if local:
                here.require_local(context.command_path)
            try:
                result = function(here, **given)
                if inspect.iscoroutine(result):
                    asyncio.run(result)
                sys.stdout.flush()  # a reader that went away is noticed here, not at the exit
            except BrokenPipeError:
                hang_up()
                raise typer.Exit(BROKEN_PIPE) from None

        parameters = [*_CONTEXT, *list(_parameters(function))[1:], *_SHARED]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        vars(run)["__signature__"] = inspect.Signature(parameters)
        app.command(name, epilog=f"\b\nExample:\n  {example}")(run)
        return function

    return register


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    signature = inspect.signature(function, eval_str=True)
    return [
        one if index == 0 else one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for index, one in enumerate(signature.parameters.values())
    ]


_CONTEXT = [
    inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
]
_SHARED = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("as_json", False, JsonOption),
        ("directory", None, DirectoryOption),
        ("url", None, UrlOption),
        ("token", None, TokenOption),
    )
]
