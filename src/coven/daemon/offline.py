"""What can be done to a store without a daemon: check it, dump it, copy it.

Checking and copying take the lock, because they must not meet a daemon that starts meanwhile; a
dump only reads, so it works beside a running daemon too. What is printed is what `coven store`
prints when a daemon does the work.
"""

import os
import sys
from pathlib import Path

from coven.config import Settings
from coven.core import targets, terminal
from coven.core.clock import SystemClock
from coven.core.errors import CovenError, Kind
from coven.daemon import locks
from coven.store.dump import Dump
from coven.store.store import make_engine


class StoreMissing(CovenError):
    """There is no store in {directory}."""

    code = "STORE_MISSING"
    kind = Kind.MISSING
    remedy = "Go to the project directory, or name it with --dir; `coven up` makes a store."


def check(settings: Settings, *, as_json: bool = False) -> int:
    """Look for damage; 0 when there is none."""
    clock = SystemClock()
    _require(settings)
    with locks.take(settings, clock=clock):
        engine = make_engine(settings.store_url, clock=clock)
        try:
            problems = engine.check()
        finally:
            engine.close()
    if as_json:
        terminal.document({"ok": not problems, "problems": problems})
    else:
        for problem in problems:
            terminal.line(problem)
        terminal.line("The store is damaged." if problems else "The store is sound.")
    return 1 if problems else 0


def dump(settings: Settings, target: Path | None = None, *, as_json: bool = False) -> int:
    """Every row of every table as lines of JSON, to a new file or to the output; 0 if all was."""
    _require(settings)
    dumped = Dump(settings.store_url, clock=SystemClock())
    if target is None:
        for text in dumped.lines():
            sys.stdout.write(text + "\n")
        return _tell_unreadable(dumped)
    targets.require_new(target)
    count = 0
    # For its owner only: rows hold hashes of tokens and whatever people have told each other.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            for text in dumped.lines():
                file.write(text + "\n")
                count += 1
    except BaseException:
        if count == 0:
            target.unlink()  # what could be read of a damaged store stays; nothing is not worth it
        raise
    told = {"path": str(target), "lines": count}
    if as_json:
        terminal.document(told)
    else:
        terminal.line(f"{target} ({count} lines)")
    return _tell_unreadable(dumped)


def _tell_unreadable(dumped: Dump) -> int:
    for told in dumped.unreadable:
        print(terminal.printable(f"Error: Not everything could be read of {told}"), file=sys.stderr)
    return 1 if dumped.unreadable else 0


def backup(settings: Settings, target: Path | None = None, *, as_json: bool = False) -> int:
    """A consistent copy of the embedded store in one file."""
    clock = SystemClock()
    _require(settings)
    if target is not None:
        targets.require_new(target)
    with locks.take(settings, clock=clock):
        engine = make_engine(settings.store_url, clock=clock)
        try:
            chosen = target or default_target(settings, clock)
            if target is None:
                chosen.parent.mkdir(mode=0o700, exist_ok=True)
            size = engine.backup(chosen)
        finally:
            engine.close()
    if as_json:
        terminal.document({"path": str(chosen), "bytes": size})
    else:
        terminal.line(f"{chosen} ({size} bytes)")
    return 0


def default_target(settings: Settings, clock: SystemClock) -> Path:
    """Where a backup goes that nobody named a file for."""
    at = clock.now().strftime("%Y%m%dT%H%M%S.%fZ")
    return settings.state_directory / "backups" / f"coven-{at}.db"


def _require(settings: Settings) -> None:
    scheme, _, path = settings.store_url.partition(":")
    if scheme == "sqlite" and not Path(path).exists():
        raise StoreMissing(directory=str(settings.directory))
