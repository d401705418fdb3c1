"""What a notification is: a few words for a person, read or unread.

Instants are the fixed text of `core.clock` here, as the store keeps them and the wire shows them:
this room only carries them.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from coven.core.errors import CovenError, Kind
from coven.core.ids import NotificationId
from coven.store import Event

KIND_PATTERN = r"^[a-z0-9]+(?:[._-][a-z0-9]+)*$"
# At least one visible character, written out because "space" means something else in each dialect
# of regular expressions that reads this.
TITLE_PATTERN = r"[^\s\x00-\x20\x7f-\xa0\ufeff]"
KIND_CHARACTERS_MAX = 64
TITLE_CHARACTERS_MAX = 200
SUBJECT_CHARACTERS_MAX = 200
BODY_BYTES_MAX = 16 * 1024

_VISIBLE = re.compile(TITLE_PATTERN)
_KIND = re.compile(KIND_PATTERN.replace("$", r"\Z"), re.ASCII)


class NotificationNotFound(CovenError):
    """There is no notification {notification_id}."""

    code = "NOTIFICATION_NOT_FOUND"
    kind = Kind.MISSING
    remedy = "`GET /api/v1/notifications` lists the notifications that there are."


class NotificationRefused(CovenError):
    """The {field} of a notification {problem}."""

    code = "NOTIFICATION_REFUSED"
    kind = Kind.INVALID
    remedy = "Shorten it, and name what it is about in `subject` instead of repeating it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants to tell; its limits hold for whoever writes it."""

    kind: str
    """What it is about, as a slug that programs can filter by: `task.blocked`."""
    title: str
    body: str | None = None
    subject: str | None = None
    """The id or name of the thing that it is about."""

    def __post_init__(self) -> None:
        if len(self.kind) > KIND_CHARACTERS_MAX or _KIND.match(self.kind) is None:
            raise NotificationRefused(field="kind", problem="is not a slug")
        if _VISIBLE.search(self.title) is None or len(self.title) > TITLE_CHARACTERS_MAX:
            raise NotificationRefused(
                field="title", problem=f"must have 1 to {TITLE_CHARACTERS_MAX} visible characters"
            )
        if self.subject is not None and len(self.subject) > SUBJECT_CHARACTERS_MAX:
            raise NotificationRefused(
                field="subject", problem=f"is longer than {SUBJECT_CHARACTERS_MAX} characters"
            )
        # A text has at least as many bytes as characters and at most four times as many.
        body = self.body or ""
        if len(body) * 4 > BODY_BYTES_MAX and len(body.encode()) > BODY_BYTES_MAX:
            raise NotificationRefused(
                field="body", problem=f"is longer than {BODY_BYTES_MAX} bytes"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Something a person was told; `read_at` is None until somebody has read it."""

    notification_id: NotificationId
    kind: str
    title: str
    body: str | None
    subject: str | None
    created_at: str
    read_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNotification(Event):
    """A person has something to read."""

    type: ClassVar[str] = "user.notification"
    entity: ClassVar[str] = "notification"

    kind: str
    title: str
    subject: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRead(Event):
    """Somebody has read a notification."""

    type: ClassVar[str] = "notification.read"
    entity: ClassVar[str] = "notification"
