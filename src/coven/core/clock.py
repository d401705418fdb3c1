"""Time: one clock for the whole house, which tests can move.

Nothing else reads the time of day. `SystemClock.offset` is the tests' hand on the clock: the
database's own time on PostgreSQL is moved by the same offset, so both engines agree about what
"now" is. Instants are aware UTC datetimes in code and fixed-width RFC 3339 text with microseconds
on the wire and in the database, so that text order is time order.
"""

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from coven.core.errors import CovenError, Kind


class MalformedInstant(CovenError):
    """{text!r} is not a point in time."""

    code = "MALFORMED_INSTANT"
    kind = Kind.MALFORMED
    remedy = "Write it as RFC 3339 in UTC, for example 2030-01-31T12:00:00.000000Z."


class Clock(Protocol):
    """Where everybody asks what time it is."""

    @property
    def offset(self) -> timedelta:
        """How far this clock has been moved from the machine's."""
        ...

    def now(self) -> datetime:
        """The current instant, aware, in UTC. It may jump, also backwards."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; never jumps. For measuring how long something took."""
        ...


class SystemClock:
    """The machine's clock, moved by `offset`."""

    def __init__(self, offset: timedelta = timedelta(0)) -> None:
        self.offset = offset

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def monotonic(self) -> float:
        return time.monotonic()

    def move(self, by: timedelta) -> None:
        """Let the time of day jump. Only tests do this."""
        self.offset += by


_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|z|[+\- ]\d\d:?\d\d)", re.ASCII
)


@lru_cache(maxsize=4)
def render(instant: datetime) -> str:
    """An instant as fixed-width text: `2030-01-31T12:00:00.000000Z`.

    The functions of one group ask for the same instant one after the other.
    """
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    return instant.isoformat(timespec="microseconds")[:26] + "Z"


def parse(text: str) -> datetime:
    """The instant that an RFC 3339 text names; nanoseconds are cut to microseconds."""
    match = _RFC3339.fullmatch(text.strip())
    if match is None:
        raise MalformedInstant(text=text[:64])
    day, at, fraction, zone = match.groups()
    if zone in "Zz":
        zone = "+00:00"
    elif zone[0] == " ":  # a plus sign that was not percent-encoded in a URL
        zone = "+" + zone[1:]
    micros = ((fraction or "") + "000000")[:6]
    try:
        return datetime.fromisoformat(f"{day}T{at}.{micros}{zone}").astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise MalformedInstant(text=text[:64]) from error
