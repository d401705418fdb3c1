"""Ids: one type for each noun, UUIDv7 underneath.

A UUIDv7 begins with the time it was made, so ids of one kind sort by age and make good keys. Two
ids made in one process never share their first 60 bits, so their order is the order of making. Ids
of every room live here, because rooms name each other's things without importing each other.
"""

import os
import re
import threading
import time
from typing import NewType, TypeVar

from coven.core.errors import CovenError, Kind

ProjectId = NewType("ProjectId", str)
NodeId = NewType("NodeId", str)
NotificationId = NewType("NotificationId", str)
TokenId = NewType("TokenId", str)
TaskId = NewType("TaskId", str)
WorkflowId = NewType("WorkflowId", str)
AgentId = NewType("AgentId", str)
QuestionId = NewType("QuestionId", str)
RunId = NewType("RunId", str)
WorkspaceId = NewType("WorkspaceId", str)

DEFAULT_PROJECT = ProjectId("default")

_T = TypeVar("_T", bound=str)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_PROJECT = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)


class MalformedId(CovenError):
    """{text!r} is not an id."""

    code = "MALFORMED_ID"
    kind = Kind.MALFORMED
    remedy = "Ids are lower-case UUIDs such as 0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e; copy it whole."


class MalformedProject(CovenError):
    """{text!r} is not a project id."""

    code = "MALFORMED_PROJECT"
    kind = Kind.MALFORMED
    remedy = "A project id has 1 to 63 letters, digits, dots, dashes or underscores."


class _Sequence:
    """The last 60-bit time stamp that was given out: milliseconds and a 12-bit fraction."""

    def __init__(self) -> None:
        self._last = 0
        self._drawn: list[bytes] = []
        os.register_at_fork(after_in_child=self._drawn.clear)
        self._lock = threading.Lock()

    def next(self) -> int:
        nanos = time.time_ns()
        stamp = (nanos // 1_000_000 << 12) | (nanos % 1_000_000) * 4096 // 1_000_000
        with self._lock:
            # A clock that stands still or jumps back must not make ids repeat or run backwards.
            self._last = stamp = max(stamp, self._last + 1)
        return stamp

    def random(self) -> bytes:
        """Eight random bytes, drawn many at a time: asking the kernel costs more than the id."""
        try:
            return self._drawn.pop()
        except IndexError:
            drawn = os.urandom(8 * 256)
            self._drawn.extend(drawn[start : start + 8] for start in range(8, len(drawn), 8))
            return drawn[:8]


_sequence = _Sequence()


def new(kind: type[_T] | NewType = str) -> str:
    """A fresh UUIDv7. `kind` only documents what it is the id of."""
    stamp = _sequence.next()
    value = stamp >> 12 << 16 | 0x7000 | stamp & 0xFFF
    tail = int.from_bytes(_sequence.random(), "big") & 0x3FFFFFFFFFFFFFFF | 0x8000000000000000
    text = f"{value:016x}{tail:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def parse(text: str) -> str:
    """The id that untrusted text spells, or MalformedId."""
    if _UUID.fullmatch(text) is None:
        raise MalformedId(text=text[:64])
    return text


def project(text: str) -> ProjectId:
    """The project id that untrusted text spells, or MalformedProject."""
    if _PROJECT.fullmatch(text) is None:
        raise MalformedProject(text=text[:80])
    return ProjectId(text)
