"""What can be done to a store without a daemon: check it, dump it, copy it.

Checking and copying take the lock, because they must not meet a daemon that starts meanwhile; a
dump only reads, so it works beside a running daemon too.
"""

import json
import sys
from pathlib import Path

from coven.config import Settings
from coven.core.clock import SystemClock
from coven.core.errors import CovenError, Kind
from coven.store import dump as dumps
from coven.store import lock
from coven.store.engine import Engine
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
    with lock.take(settings.lock_file, clock=clock):
        engine = make_engine(settings.store_url, clock=clock)
        try:
            problems = engine.check()
        finally:
            engine.close()
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems}))
    else:
        print("\n".join(problems) or "The store is in good order.")
    return 1 if problems else 0


def dump(settings: Settings, target: Path | None = None) -> int:
    """Every row of every table as lines of JSON, to a file or to the output."""
    _require(settings)
    lines = dumps.lines(settings.store_url, clock=SystemClock())
    if target is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return 0
    with target.open("x", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
    return 0


def backup(settings: Settings, target: Path | None = None, *, as_json: bool = False) -> int:
    """A consistent copy of the embedded store in one file."""
    clock = SystemClock()
    _require(settings)
    chosen = target or default_target(settings, clock)
    with lock.take(settings.lock_file, clock=clock):
        engine: Engine = make_engine(settings.store_url, clock=clock)
        try:
            chosen.parent.mkdir(mode=0o700, exist_ok=True)
            size = engine.backup(chosen)
        finally:
            engine.close()
    told = {"path": str(chosen), "bytes": size}
    print(json.dumps(told) if as_json else f"{chosen} ({size} bytes)")
    return 0


def default_target(settings: Settings, clock: SystemClock) -> Path:
    """Where a backup goes that nobody named a file for."""
    at = clock.now().strftime("%Y%m%dT%H%M%S.%fZ")
    return settings.state_directory / "backups" / f"coven-{at}.db"


def _require(settings: Settings) -> None:
    scheme, _, path = settings.store_url.partition(":")
    if scheme == "sqlite" and not Path(path).exists():
        raise StoreMissing(directory=str(settings.directory))
