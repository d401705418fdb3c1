"""The Python client of a Coven daemon: a visitor that speaks HTTP like everybody else.

It imports `core` at most and could be a package of its own. `Coven` is the front; the groups on it
(`notifications`, `events`, `loops`, …) use the words of the daemon's routes. Replies are frozen
values, refusals are `CovenApiError`s, and both retries and streams are safe by construction: see
`transport` and `events` for how.
"""

from coven.client.blocking import Blocking
from coven.client.coven import Coven
from coven.client.errors import (
    AccessDenied,
    BadAddress,
    BadRequest,
    BadToken,
    Busy,
    Conflict,
    ConnectionLost,
    CovenApiError,
    DaemonNotRunning,
    Gone,
    MalformedName,
    NoReply,
    NotFound,
    SocketForbidden,
    StaleGeneration,
    UnreadableReply,
)
from coven.client.events import ConnectionChanged, EventStream
from coven.client.mirror import Mirror
from coven.client.values import (
    Backup,
    Event,
    Health,
    Loop,
    Notification,
    Resync,
    RetentionRule,
    State,
    StoreCheck,
    Token,
    Version,
)

__all__ = [
    "AccessDenied",
    "Backup",
    "BadAddress",
    "BadRequest",
    "BadToken",
    "Blocking",
    "Busy",
    "Conflict",
    "ConnectionChanged",
    "ConnectionLost",
    "Coven",
    "CovenApiError",
    "DaemonNotRunning",
    "Event",
    "EventStream",
    "Gone",
    "Health",
    "Loop",
    "MalformedName",
    "Mirror",
    "NoReply",
    "NotFound",
    "Notification",
    "Resync",
    "RetentionRule",
    "SocketForbidden",
    "StaleGeneration",
    "State",
    "StoreCheck",
    "Token",
    "UnreadableReply",
    "Version",
]
