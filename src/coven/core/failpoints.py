"""Failpoints: named places where a test may make the process die, fail or wait.

A failpoint is a line `failpoints.hit(POINT)` beside the step that matters. Nothing happens unless
the environment variable COVEN_FAILPOINTS armed it when the process started, and a point that is not
armed costs one look into an empty dictionary. Production code never branches on a failpoint.

    COVEN_FAILPOINTS="store.commit.before=kill@3,blobs.put.renamed=error"

`kill` is SIGKILL to ourselves: no handler, no flush, no goodbye. `error` raises `FailpointError`.
`stop` is SIGSTOP, so that a test can look around while the process stands still. `@n` waits for the
n-th hit.
"""

import os
import signal
import threading
from dataclasses import dataclass
from typing import NewType

Point = NewType("Point", str)

_declared: dict[str, str] = {}
_armed: dict[str, "_Arming"] = {}
_lock = threading.Lock()


class FailpointError(OSError):
    """What an armed `error` raises: an input/output failure, as if a disk had refused."""


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
    _armed.clear()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, action = part.partition("=")
        action, _, count = action.partition("@")
        if action not in ("kill", "error", "stop"):
            raise ValueError(f"unknown failpoint action {action!r} in {part!r}")
        _armed[name] = _Arming(action, int(count or "1"))


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
