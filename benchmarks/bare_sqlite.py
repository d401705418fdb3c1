"""SQLite through apsw and nothing else, with the durability of the store."""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from benchmarks.bare import PROJECT, STATEMENTS, event, row

_LOCK, _INSERT, _APPEND, _ADVANCE = (
    STATEMENTS[name].sqlite for name in ("lock", "insert", "append", "advance")
)


class BareSqlite:
    """One connection to a store that Coven has made."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(":memory:")
        self._execute = self._connection.execute
        self._execute("ATTACH ? AS kb", (str(path),))
        for setting in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-32768"):
            self._execute(f"PRAGMA kb.{setting}")
        self._execute("PRAGMA foreign_keys=ON")

    def commit(self, numbers: Sequence[int]) -> None:
        self._execute("BEGIN IMMEDIATE")
        self._execute(_LOCK, {"project": PROJECT}).fetchall()
        for number in numbers:
            self._execute(_INSERT, row(number))
        events = [event(number) for number in numbers]
        self._connection.executemany(_APPEND, events)
        last = events[-1]
        moved = {"project": PROJECT, "seq": last["seq"], "last_at": last["timestamp"]}
        self._execute(_ADVANCE, moved)
        self._execute("COMMIT")

    def last(self) -> int:
        """The number of the last event that is there."""
        found = self._execute(_LOCK, {"project": PROJECT}).fetchone()
        return 0 if found is None else int(found[1])

    def settings(self) -> dict[str, object]:
        """What makes its commits durable, as SQLite itself says."""
        names = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
        mode = self._execute("PRAGMA kb.journal_mode").fetchone()
        level = self._execute("PRAGMA kb.synchronous").fetchone()
        return {"journal_mode": mode[0], "synchronous": names[level[0]]}

    def close(self) -> None:
        self._connection.close()


def fsync_loop(folder: Path, seconds: float) -> list[float]:
    """Append 500 bytes and wait until the disk has them: how long each took."""
    took: list[float] = []
    path = folder / "fsync.bin"
    with open(path, "wb", buffering=0) as file:
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            file.write(b"x" * 500)
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    with contextlib.suppress(OSError):
        path.unlink()
    return took
