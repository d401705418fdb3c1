"""Places in a log: one opaque text for `since`, `Last-Event-ID`, SSE ids and event pages.

A cursor names the log by its epoch and its stream, so that a place in one log is never mistaken
for a place in another: on another store, or after going back to a backup, it is refused instead of
skipping. A backup gets epochs of its own when we make it; one that something else has made keeps
the old ones until somebody renews them.
"""

import base64
import binascii
import re
from dataclasses import dataclass

from coven.core.errors import CovenError, Kind
from coven.core.ids import ProjectId

_TEXT = re.compile(r"1\|([0-9a-f]{8})\|([a-zA-Z0-9._-]{1,63})\|(\d{1,18})", re.ASCII)


class MalformedEventCursor(CovenError):
    """{text!r} is neither a cursor of this log nor a point in time."""

    code = "MALFORMED_EVENT_CURSOR"
    kind = Kind.MALFORMED
    remedy = (
        "Use the `id` of an event or `next_cursor` of a page, unchanged, or a time such as "
        "2030-01-31T12:00:00.000000Z; or leave it out."
    )


class EventsGone(CovenError):
    """Events from this place on are not kept any more ({reason})."""

    code = "EVENTS_GONE"
    kind = Kind.GONE
    remedy = "Read the snapshot at `details.snapshot`, then go on from its `cursor`."


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place after one event of one log; `seq` 0 is the place before the first."""

    epoch: str
    stream: ProjectId
    seq: int

    def render(self) -> str:
        raw = f"1|{self.epoch}|{self.stream}|{self.seq}".encode()
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def parse(text: str) -> Cursor:
    """The cursor that untrusted text spells, or MalformedEventCursor."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        match = _TEXT.fullmatch(raw.decode("ascii"))
    except (binascii.Error, ValueError) as error:
        raise MalformedEventCursor(text=text[:64]) from error
    if match is None or Cursor(match[1], ProjectId(match[2]), int(match[3])).render() != text:
        raise MalformedEventCursor(text=text[:64])
    return Cursor(match[1], ProjectId(match[2]), int(match[3]))
