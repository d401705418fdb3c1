"""Failures: the one function that tells a person, or a program, what went wrong.

Message, then remedy, on the error stream; with `--json` the same shape that the daemon answers. The
exit code says what the caller can do about it.
"""

import json
import sys
import traceback
from typing import Any

import typer

from coven.cli.output import is_coloured, printable
from coven.core.errors import CovenError, Kind

USAGE = 2
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell says of a program whose reader went away
CYCLE = 14
TAKEN = 12

_EXIT_CODES = {
    Kind.MALFORMED: USAGE,
    Kind.INVALID: USAGE,
    Kind.TOO_LARGE: USAGE,
    Kind.MISSING: 10,
    Kind.CONFLICT: 11,
    Kind.FORBIDDEN: 13,
    Kind.UNAUTHENTICATED: 13,
    Kind.STALE: 13,
}


def report(error: Exception, *, as_json: bool) -> int:
    """Tell what went wrong; the exit code that belongs to it."""
    told, exit_code = _told(error)
    if as_json:
        print(json.dumps({"error": told}, ensure_ascii=False, default=str), file=sys.stderr)
        return exit_code
    if told["code"] == CovenError.code and not isinstance(error, CovenError):
        traceback.print_exception(error)
    print(f"{_red('Error:')} {printable(told['message'])}", file=sys.stderr)
    if told["remedy"]:
        print(printable(told["remedy"]), file=sys.stderr)
    return exit_code


def exit_code_of(error: CovenError) -> int:
    """What a script sees: 10 not found, 11 conflict, 12 taken, 13 denied, 14 cycle, 2 usage, 1."""
    if error.kind is Kind.CONFLICT:
        if "CYCLE" in error.code:
            return CYCLE
        if "IN_USE" in error.code or "CLAIMED" in error.code:
            return TAKEN
    return _EXIT_CODES.get(error.kind, 1)


def _told(error: Exception) -> tuple[dict[str, Any], int]:
    if isinstance(error, CovenError):
        return _shape(error.code, error.message, error.remedy, error.details), exit_code_of(error)
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "coven"
        told = _shape("USAGE", error.format_message(), f"`{path} --help` shows what it takes.")
        return told, error.exit_code
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return _shape("OS_ERROR", f"{name}{error.strerror or error}", ""), 1
    message = f"{type(error).__name__}: {error}"
    return _shape(CovenError.code, message, CovenError.remedy), 1


def _shape(code: str, message: str, remedy: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {
        "code": code,
        "message": message,
        "details": details[0] if details else {},
        "remedy": remedy,
    }


def _red(text: str) -> str:
    return typer.style(text, fg="red", bold=True) if is_coloured(sys.stderr) else text
