"""Failures: what the command line adds to `coven.core.exits`, namely usage errors and a colour."""

import sys

import typer

from coven.cli.output import is_coloured
from coven.core import exits
from coven.core.exits import CommandNotUnderstood, Failure


def report(error: Exception, *, as_json: bool) -> int:
    """Tell what went wrong; the exit code that belongs to it."""
    heading = typer.style("Error:", fg="red", bold=True) if is_coloured(sys.stderr) else "Error:"
    if not isinstance(error, typer.TyperException):
        return exits.report(error, as_json=as_json, heading=heading)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "coven"
    failure = Failure(
        code=CommandNotUnderstood.code,
        message=error.format_message(),
        remedy=f"`{path} --help` shows what it takes.",
    )
    exits.tell(failure, as_json=as_json, heading=heading)
    return error.exit_code
