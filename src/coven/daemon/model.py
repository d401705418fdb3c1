"""The daemon's own words: its events and its errors."""

from dataclasses import dataclass
from typing import ClassVar

from coven.core.errors import CovenError, Kind
from coven.store import Event


class PortInUse(CovenError):
    """Port {port} of 127.0.0.1 is in use."""

    code = "PORT_IN_USE"
    kind = Kind.CONFLICT
    remedy = "Stop the other program, or choose another port: `coven up --port 0` finds a free one."


class SocketRefused(CovenError):
    """The daemon cannot listen on {address}: {reason}."""

    code = "SOCKET_REFUSED"
    kind = Kind.UNAVAILABLE
    remedy = "Make the directory .coven writable for the user of the daemon, on a local disk."


class LoopUnknown(CovenError):
    """There is no loop called {name!r}."""

    code = "LOOP_UNKNOWN"
    kind = Kind.MISSING
    remedy = "`coven loop list` shows them."


class BackupExists(CovenError):
    """There is a file called {name!r} already."""

    code = "BACKUP_EXISTS"
    kind = Kind.CONFLICT
    remedy = "A backup never overwrites anything. Name another file."


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonRecovered(Event):
    """A daemon has started and put right what the one before it left; written at every start."""

    type: ClassVar[str] = "daemon.recovered"
    entity: ClassVar[str] = "daemon"
    version: str
    clean: bool
    """Whether the daemon before this one ended in good order."""
    recovered: dict[str, int]
    """How many things of each kind were put right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStopped(Event):
    """A daemon is ending in good order."""

    type: ClassVar[str] = "daemon.stopped"
    entity: ClassVar[str] = "daemon"
    reason: str
