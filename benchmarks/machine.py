"""Where and with what a benchmark ran: no name and no path of the machine, only what it is."""

import os
import platform
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw

import coven

LIBRARIES = ("apsw", "psycopg", "fastapi", "uvicorn", "uvloop", "httptools", "pydantic")
_IN_MEMORY = {"tmpfs", "ramfs"}


def describe() -> dict[str, Any]:
    """The machine, the versions, and how busy it is with other things right now."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": platform.release(),
        "disk": _file_system(Path(tempfile.gettempdir())),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "coven": coven.__version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def check_disk() -> str | None:
    """Why durable writes cannot be measured here, if they cannot."""
    kind = _file_system(Path(tempfile.gettempdir()))
    if kind in _IN_MEMORY:
        return f"the temporary directory is in memory ({kind}): set TMPDIR to a directory on a disk"
    return None


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3


def _file_system(folder: Path) -> str:
    """The kind of file system that a folder is on: the longest mount point above it decides."""
    found, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, name, *_ = line.split()
        inside = str(folder.resolve()).startswith(place.rstrip("/") + "/") or place == "/"
        if inside and len(place) >= len(found):
            found, kind = place, name
    return kind
