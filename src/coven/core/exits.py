"""Exits: the one place that says how a program of ours fails, to a person, a script and a shell.

Message, then remedy, on the error stream; with `--json` the shape that the daemon answers with. The
exit code says what the caller can do about it. `coven` and `python -m coven.daemon` both end here,
so the same failure looks the same whichever of them met it.
"""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from coven.core import terminal
from coven.core.errors import CovenError, Kind
from coven.core.terminal import printable

FAILED = 1
USAGE = 2
NOT_FOUND = 10
CONFLICT = 11
TAKEN = 12
DENIED = 13
CYCLE = 14
INTERRUPTED = 130
BROKEN_PIPE = 141  # 128 + SIGPIPE, what a shell says of a program whose reader went away

_OF_KIND = {
    Kind.MALFORMED: USAGE,
    Kind.INVALID: USAGE,
    Kind.TOO_LARGE: USAGE,
    Kind.MISSING: NOT_FOUND,
    Kind.CONFLICT: CONFLICT,
    Kind.FORBIDDEN: DENIED,
    Kind.UNAUTHENTICATED: DENIED,
    Kind.STALE: DENIED,
}
# A client knows the codes of a daemon only as text, and a newer daemon has codes of its own: among
# the conflicts it is these words in them that a script is told about.
_OF_CONFLICT = {"CYCLE": CYCLE, "IN_USE": TAKEN, "CLAIMED": TAKEN, "LOCKED": TAKEN}


class CommandNotUnderstood(CovenError):
    """The command line cannot be read: {problem}."""

    code = "USAGE"
    kind = Kind.INVALID
    remedy = "`coven --help` lists the commands, and each of them explains itself with --help."


class DirectoryGone(CovenError):
    """The directory in which this was run is not there any more."""

    code = "DIRECTORY_GONE"
    kind = Kind.MISSING
    remedy = "Change to a directory that is there, for example with `cd`, and run it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is told about an error."""

    code: str
    message: str
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    remedy: str = ""


def require_text(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8: no name, title or path of ours can be anything else."""
    for number, argument in enumerate(arguments, start=1):
        if not terminal.is_text(argument):
            raise CommandNotUnderstood(problem=f"argument {number} is not UTF-8 text")


def code_of(error: Exception) -> int:
    """2 usage, 10 not found, 11 conflict, 12 taken, 13 denied, 14 cycle, and 1 for the rest."""
    if not isinstance(error, CovenError):
        return FAILED
    if error.kind is Kind.CONFLICT:
        words = (exit_code for word, exit_code in _OF_CONFLICT.items() if word in error.code)
        return next(words, CONFLICT)
    return _OF_KIND.get(error.kind, FAILED)


def report(error: Exception, *, as_json: bool, heading: str = "Error:") -> int:
    """Tell what went wrong; the exit code that belongs to it."""
    if isinstance(error, FileNotFoundError) and _is_here_gone():
        error = DirectoryGone()
    is_expected = isinstance(error, CovenError | OSError)
    if not is_expected and not as_json:
        traceback.print_exception(error)
    tell(_failure(error), as_json=as_json, heading=heading)
    return code_of(error)


def tell(failure: Failure, *, as_json: bool, heading: str = "Error:") -> None:
    """Print a failure to the error stream."""
    if as_json:
        body = {"error": asdict(failure)}
        print(json.dumps(body, ensure_ascii=False, default=str), file=sys.stderr)
        return
    print(f"{heading} {printable(failure.message)}", file=sys.stderr)
    if failure.remedy:
        print(printable(failure.remedy), file=sys.stderr)


def _is_here_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _failure(error: Exception) -> Failure:
    if isinstance(error, CovenError):
        return Failure(
            code=error.code, message=error.message, details=error.details, remedy=error.remedy
        )
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return Failure(code="OS_ERROR", message=f"{name}{error.strerror or error}")
    message = f"{type(error).__name__}: {error}"
    return Failure(code=CovenError.code, message=message, remedy=CovenError.remedy)
