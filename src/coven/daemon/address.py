"""Where the daemon answers: `.coven/covend.json`, there while a daemon is up.

A daemon that was killed leaves the file behind, so its being there proves nothing: only the lock
can say whether one runs. The client reads the same file with its own few lines (`coven.client`).
"""

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from coven.daemon import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """How a running daemon is reached, and which process it is."""

    pid: int
    url: str
    socket: str
    version: str
    started_at: str


def write(path: Path, address: Address) -> None:
    """Tell everybody where the daemon is. Called once the doors are open."""
    files.write(path, json.dumps(asdict(address), indent=2).encode() + b"\n", mode=0o600)


def remove(path: Path, *, pid: int) -> None:
    """Take the address away, unless it is another daemon's by now."""
    found = find(path)
    if found is not None and found.pid != pid:
        return
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def find(path: Path) -> Address | None:
    """The address that was written last; None when there is none that can be read."""
    try:
        body: Any = json.loads(path.read_bytes())
        return _parsed(cast("dict[str, Any]", body)) if isinstance(body, dict) else None
    except (OSError, ValueError):
        return None


def _parsed(body: dict[str, Any]) -> Address | None:
    pid = body.get("pid")
    texts = {name: body.get(name) for name in ("url", "socket", "version", "started_at")}
    if not isinstance(pid, int) or not all(isinstance(text, str) for text in texts.values()):
        return None
    return Address(pid=pid, **cast("dict[str, str]", texts))
