"""A mirror of the daemon's state that is kept current by its events.

It begins with `/state`, which is one read transaction and says which event was its last, and
follows the events from exactly there. An event about a thing that the state shows makes the mirror
load the state again: events carry ids, not bodies, and a state loaded now is exact for every event
up to its own `seq`, so the events that it already holds are passed over and a burst of events costs
one load. Events about other things only move the place. So at any moment `state` is what one read
transaction of the daemon answered, and after a lost connection, a restart or a `Resync` it catches
up by the same rule.

Deliberately not here: what the state means to a screen.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from coven.client.events import EventStream
from coven.client.transport import pauses
from coven.client.values import Event, Resync, State
from coven.core.errors import CovenError, Kind

SHOWN = frozenset({"task", "agent", "workflow", "question"})


class Mirror:
    """Use it as `async with coven.mirror() as mirror`; `mirror.state` is there at once."""

    def __init__(
        self,
        load: Callable[[], Awaitable[State]],
        follow: Callable[[str], EventStream],
    ) -> None:
        self._load = load
        self._follow = follow
        self._state: State | None = None
        self._stream: EventStream | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def state(self) -> State:
        """The state as far as it is known: true at the event `state.seq`."""
        if self._state is None:
            raise RuntimeError("open the mirror first: `async with coven.mirror() as mirror`")
        return self._state

    @property
    def is_connected(self) -> bool:
        """Whether the daemon is heard at the moment; without it the state only grows old."""
        return self._stream is not None and self._stream.is_connected

    async def changes(self) -> AsyncIterator[State]:
        """The state now, and again whenever it has changed: the newest one, never a backlog."""
        told: State | None = None
        while True:
            changed = self._changed
            if self._state is not told:
                told = self.state
                yield told
                continue
            self._raise_if_ended()
            await changed.wait()

    async def reached(self, seq: int) -> State:
        """The state as soon as it holds the event `seq`."""
        async for state in self.changes():
            if state.seq >= seq:
                return state
        raise AssertionError("changes never end")

    async def __aenter__(self) -> Self:
        self._show(await self._load())
        self._stream = self._follow(self.state.cursor)
        self._keeper = asyncio.create_task(self._keep(self._stream))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            # What ended the keeper was for those who waited for changes.
            with contextlib.suppress(asyncio.CancelledError, CovenError):
                await self._keeper
        if self._stream is not None:
            await self._stream.aclose()

    async def _keep(self, stream: EventStream) -> None:
        try:
            async for happened in stream:
                await self._take(happened)
        finally:
            self._changed.set()  # whoever waits for a change learns that none will come

    async def _take(self, happened: Event | Resync) -> None:
        if isinstance(happened, Resync):
            self._show(await self._loaded())
        elif happened.seq <= self.state.seq:
            return  # the state was loaded after this event and holds it
        elif happened.entity in SHOWN:
            self._show(await self._loaded())
        else:
            self._show(
                replace(
                    self.state,
                    seq=happened.seq,
                    cursor=happened.id,
                    timestamp=happened.timestamp,
                )
            )

    async def _loaded(self) -> State:
        for pause in pauses():
            try:
                return await self._load()
            except CovenError as error:
                if error.kind not in (Kind.UNAVAILABLE, Kind.LIMITED):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    def _show(self, state: State) -> None:
        self._state = state
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _raise_if_ended(self) -> None:
        if self._keeper is not None and self._keeper.done():
            self._keeper.result()
            raise RuntimeError("the mirror is closed")
