"""The command line as a program: started, spoken to, ended, and never left behind."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coven.client.address import announcement
from tests.eventually import eventually

SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


def environment() -> dict[str, str]:
    """Ours, without what names another daemon."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVEN_")}


async def coven(*arguments: str, within: Path) -> Ended:
    """Run a command to its end in a directory."""
    process = await _started(*arguments, within=within)
    try:
        async with asyncio.timeout(SECONDS_MAX):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return Ended(code=process.returncode or 0, out=out.decode(), err=err.decode())


class Running:
    """A command that goes on; its lines as they come."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return await self._next(self.process.stdout)

    async def aside(self) -> str:
        """The next line of its error stream."""
        assert self.process.stderr is not None
        return await self._next(self.process.stderr)

    async def interrupt(self) -> int:
        """Ctrl-C; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return await asyncio.wait_for(self.process.wait(), SECONDS_MAX)

    async def _next(self, stream: asyncio.StreamReader) -> str:
        read = await asyncio.wait_for(stream.readline(), SECONDS_MAX)
        return read.decode().rstrip("\n")


@asynccontextmanager
async def running(*arguments: str, within: Path) -> AsyncIterator[Running]:
    """A command that goes on until the test is done with it."""
    process = await _started(*arguments, within=within)
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@asynccontextmanager
async def daemon_of(project: Path) -> AsyncIterator[Running]:
    """`coven up`, once it says where it is."""
    async with running("up", "--port", "0", within=project) as up:
        await eventually(lambda: asyncio.to_thread(_is_up, project, up), within=SECONDS_MAX)
        yield up


def _is_up(project: Path, up: Running) -> bool:
    return announcement(project).get("pid") == up.process.pid


async def _started(*arguments: str, within: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # as the console script, which does not look for modules where it is run
        "-m",
        "coven",
        *arguments,
        cwd=within,
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
