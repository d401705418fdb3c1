"""Answers: what goes back to a caller, and what can give one."""

from dataclasses import dataclass, field
from typing import Protocol

from coven.doors.access import Principal
from coven.doors.arrival import Arrival
from coven.doors.errors import Header
from coven.doors.sse import EventStream

JSON: Header = (b"content-type", b"application/json")


@dataclass(slots=True)
class Answer:
    """What goes back: a body, or a stream that is still to be run."""

    status: int
    body: bytes = b""
    headers: list[Header] = field(default_factory=lambda: [JSON])
    stream: EventStream | None = None
    principal: Principal | None = None
    is_kept: bool = True
    """Whether it may be written down, to be repeated for an Idempotency-Key."""


class Ready(Protocol):
    """Something that answers at a path."""

    async def answer(self, arrival: Arrival, given: dict[str, str]) -> Answer:
        """The reply; `given` are the parts of the path that are values."""
        ...
