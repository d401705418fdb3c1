"""Lost files: notices that the daemon's own files were taken away, and ends it.

A process keeps what it has open: after `rm -r .coven` it would go on acknowledging writes to a file
that nobody can find any more. Somebody who starts a second daemon there would not be kept out.
"""

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from coven.config import Settings
from coven.core.errors import CovenError, Kind
from coven.daemon.loops import Counts, Loop

EVERY = timedelta(seconds=5)
_SQLITE = "sqlite:"


class FilesLost(CovenError):
    """{path} was removed or replaced while the daemon worked on it."""

    code = "FILES_LOST"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Put it back if it was moved; otherwise restore a backup, or start again with an empty "
        "store. What was acknowledged last may be in the lost file only."
    )


class LostFiles:
    """The files that must stay where they are; made when all of them are there."""

    def __init__(self, settings: Settings) -> None:
        paths = [settings.state_directory]
        if settings.store_url.startswith(_SQLITE):
            paths.append(Path(settings.store_url.removeprefix(_SQLITE)))
        self._known = {path: _identity(path) for path in paths}

    def loop(self, fail: Callable[[CovenError], None]) -> Loop:
        """The loop that looks after them; `fail` is told when one is gone."""

        async def run_once() -> Counts:
            lost = await asyncio.to_thread(self.find)
            if lost is not None:
                fail(FilesLost(path=str(lost)))
            return {"lost": int(lost is not None)}

        return Loop(
            name="lost_files",
            meaning="Ends the daemon when its database or its directory was taken away.",
            every=EVERY,
            run_once=run_once,
        )

    def find(self) -> Path | None:
        """The first that is gone, or something else by now."""
        for path, identity in self._known.items():
            if _identity(path) != identity:
                return path
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
