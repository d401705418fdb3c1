"""Failpoints: named places where a test may make the process die, fail or wait.

A failpoint is a line `failpoints.hit(POINT)` beside the step that matters. Nothing happens unless
the environment variable COVEN_FAILPOINTS armed it when the process started, and a point that is not
armed costs one look into an empty dictionary. Production code never branches on a failpoint.

    COVEN_FAILPOINTS="store.commit.before=kill@3,daemon.file.written=error"

`kill` is SIGKILL to ourselves: no handler, no flush, no goodbye. `error` raises `FailpointError`.
`stop` is SIGSTOP, so that a test can look around while the process stands still. `@n` waits for the
n-th hit. What cannot be armed is refused: a test whose failpoint does nothing would prove nothing.
"""

import os
import re
import signal
import threading
from dataclasses import dataclass
from typing import NewType

from coven.core.errors import CovenError, Kind

Point = NewType("Point", str)

_declared: dict[str, str] = {}
_armed: dict[str, "_Arming"] = {}
_lock = threading.Lock()
_SPELLING = re.compile(
    r"(?P<name>[^=\s]+)=(?P<action>kill|error|stop)(@(?P<count>[1-9]\d{0,8}))?", re.ASCII
)


class FailpointError(OSError):
    """What an armed `error` raises: an input/output failure, as if a disk had refused."""


class MalformedFailpoint(CovenError):
    """COVEN_FAILPOINTS cannot be read at {text!r}."""

    code = "MALFORMED_FAILPOINT"
    kind = Kind.MALFORMED
    remedy = (
        "Write name=kill, name=error or name=stop, with @n for the n-th hit, and commas between."
    )


class UnknownFailpoint(CovenError):
    """This program has no failpoint called {name!r}."""

    code = "UNKNOWN_FAILPOINT"
    kind = Kind.INVALID
    remedy = "`docs/reference/failpoints.md` lists them. Correct COVEN_FAILPOINTS, or unset it."


@dataclass(slots=True)
class _Arming:
    action: str
    hits_left: int


def declare(name: str, meaning: str) -> Point:
    """Name a point, once, at the top of the module that hits it."""
    if name in _declared:
        raise ValueError(f"failpoint {name!r} is declared twice")
    _declared[name] = meaning
    return Point(name)


def declared() -> dict[str, str]:
    """Every point that has been imported, with its meaning: what a fault test walks through."""
    return dict(sorted(_declared.items()))


def arm(text: str) -> None:
    """Arm points as COVEN_FAILPOINTS spells them; the empty text disarms all."""
    wanted: dict[str, _Arming] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        found = _SPELLING.fullmatch(part)
        if found is None:
            raise MalformedFailpoint(text=part)
        wanted[found["name"]] = _Arming(found["action"], int(found["count"] or "1"))
    _armed.clear()
    _armed.update(wanted)


def check_armed() -> None:
    """Refuse an armed name that no code declares. For when everything is imported."""
    for name in sorted(_armed.keys() - _declared.keys()):
        raise UnknownFailpoint(name=name)


def hit(point: Point) -> None:
    """Do what was armed here; usually nothing."""
    if _armed:
        _strike(point)


def _strike(point: Point) -> None:
    with _lock:
        arming = _armed.get(point)
        if arming is None:
            return
        arming.hits_left -= 1
        if arming.hits_left > 0:
            return
        if arming.action != "kill":
            del _armed[point]
    if arming.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if arming.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    raise FailpointError(f"failpoint {point} was armed to fail")
