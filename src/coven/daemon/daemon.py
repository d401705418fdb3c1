"""A daemon that is up: the dozen things that its doors and its loops work on, in one place."""

import asyncio
import os
from dataclasses import dataclass, field

from coven.config import Settings
from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.core.ids import NodeId
from coven.daemon.listening import Listening
from coven.daemon.loops import Loops
from coven.daemon.retention import Retention
from coven.doors.access import Access
from coven.store import Store


@dataclass(slots=True)
class Daemon:
    """A daemon that is up: what its doors and its loops work on."""

    settings: Settings
    clock: SystemClock
    node: NodeId
    store: Store
    loops: Loops
    retention: Retention
    started_at: str
    listening: Listening
    access: Access
    token: str = field(repr=False)
    problems: list[str] = field(default_factory=list[str])
    """What was found while starting that a person must read."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = "asked to"
    failure: CovenError | None = None
    """Why it has to end, if nobody asked it to."""

    @property
    def pid(self) -> int:
        """The process that this is."""
        return os.getpid()

    @property
    def url(self) -> str:
        """Where it answers on the loopback address."""
        return self.listening.url

    @property
    def socket(self) -> str:
        """Where it answers on the Unix socket."""
        return str(self.settings.socket)

    def stop(self, reason: str) -> None:
        """Begin the end."""
        self.reason = reason
        self.stopping.set()

    def fail(self, failure: CovenError) -> None:
        """Begin the end because the work cannot go on."""
        self.failure = failure
        self.stop(failure.message)
