"""Endings: how to know that a process is gone, also while nobody has collected it yet.

A pidfd becomes readable when its process ends, even where the process stays as a zombie, and a pid
that is used again cannot be mistaken for the old one. Where there is no such thing (another
machine, another kernel) the daemon is gone when nobody answers any more.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

from coven.client import DaemonNotRunning
from coven.client.transport import pauses
from coven.core.clock import SystemClock
from coven.core.errors import CovenError


class Ending:
    """Watches one process from before it is asked to go."""

    def __init__(self, pid: int | None) -> None:
        self._pidfd: int | None = None
        if pid is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._pidfd = os.pidfd_open(pid)

    async def wait(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """Until it has ended; `ask` asks it something, for where there is no pidfd."""
        if self._pidfd is None:
            await self._silent(ask)
        else:
            await self._ended(self._pidfd)

    async def _ended(self, pidfd: int) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(pidfd, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)
            self._pidfd = None

    async def _silent(self, ask: Callable[[], Awaitable[Any]]) -> None:
        clock = SystemClock()
        for pause in pauses():
            began = clock.monotonic()
            try:
                await ask()
            except DaemonNotRunning:
                return
            except CovenError:
                pass  # it still answers, or is about to go
            await asyncio.sleep(max(0.0, pause - (clock.monotonic() - began)))
