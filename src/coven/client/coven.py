"""The front of the client: one object, its groups of verbs, and what the daemon itself answers."""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from coven.client.address import Address, Whereabouts
from coven.client.blocking import Blocking, Runner
from coven.client.events import Events
from coven.client.mirror import Mirror
from coven.client.notifications import Notifications
from coven.client.tokens import Tokens
from coven.client.transport import Request, Transport
from coven.client.upkeep import Loops, Retention, Store
from coven.client.values import Health, State, Version, read


class Coven:
    """A daemon: the one of this project, or the one at COVEN_URL.

        async with Coven() as coven:
            await coven.notifications.post("build", "It is green")

    Without arguments it looks for `.coven` in this directory and upwards (or in COVEN_DIR) and
    speaks through the daemon's Unix socket, which needs no token. A `url` with a `token`
    (COVEN_URL, COVEN_TOKEN) reaches any other. Nothing is connected before the first question.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        patience_seconds: float = 10.0,
    ) -> None:
        """`patience_seconds` bounds how long a question whose reply was lost is asked again."""
        whereabouts = Whereabouts(
            directory=Path(directory) if directory is not None else None, url=url, token=token
        )
        self._transport = Transport(whereabouts, patience_seconds=patience_seconds)
        self.notifications = Notifications(self._transport)
        self.events = Events(self._transport)
        self.loops = Loops(self._transport)
        self.retention = Retention(self._transport)
        self.tokens = Tokens(self._transport)
        self.store = Store(self._transport)

    @classmethod
    def sync(cls, *args: Any, **kwargs: Any) -> Blocking:
        """The same for programs that do not await: `with Coven.sync() as coven: …`."""
        return Blocking(cls(*args, **kwargs), Runner(), owns_runner=True)

    def address(self) -> Address:
        """Where the daemon says that it is; DaemonNotRunning where none has ever said so."""
        return self._transport.whereabouts.find()

    async def state(self) -> State:
        """Everything that is going on, from one read transaction."""
        return read(State, await self._transport.ask(Request.get("/state")))

    async def health(self) -> Health:
        """Whether the daemon is well."""
        return read(Health, await self._transport.ask(Request.get("/health")))

    async def version(self) -> Version:
        """Which Coven answers."""
        return read(Version, await self._transport.ask(Request.get("/version")))

    async def shutdown(self) -> None:
        """Ask the daemon to stop; it ends what it is doing and goes. Never sent twice."""
        request = Request(method="POST", path="/shutdown", is_repeatable=False)
        await self._transport.ask(request)

    def mirror(self) -> Mirror:
        """The state, kept current by the events: `async with coven.mirror() as mirror`."""
        return Mirror(self.state, self.events.follow)

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
