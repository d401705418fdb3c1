"""A daemon as a user has it: `python -m coven.daemon up` in a directory of its own, measured."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class RunningDaemon:
    """The process, and where it answers."""

    process: subprocess.Popen[bytes]
    directory: Path
    url: str
    started_seconds: float
    """How long it took from the start of the process until its address was told."""

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def token(self) -> str:
        return (self.directory / ".coven" / "token").read_text().strip()

    def resident_mib(self) -> float:
        """How much memory the process has in use."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * _PAGE / 1024**2

    def cpu_seconds(self) -> float:
        """How much time it has computed since its start."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / _TICKS


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A directory on a disk, gone afterwards; short, because a socket's path must be."""
    with tempfile.TemporaryDirectory(prefix="coven-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def running(directory: Path, store: str = "sqlite") -> Iterator[RunningDaemon]:
    """A daemon for the length of a `with`."""
    told = directory / ".coven" / "covend.json"
    told.unlink(missing_ok=True)
    with open(directory / "daemon.out", "ab") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "coven.daemon", "up", "--port", "0", "--store", store],
            cwd=directory,
            stdout=output,
            stderr=output,
        )
    try:
        while not told.exists():
            if process.poll() is not None or time.perf_counter() - began > START_SECONDS_MAX:
                raise RuntimeError((directory / "daemon.out").read_text()[-2000:])
            time.sleep(0.001)
        took = time.perf_counter() - began
        url = json.loads(told.read_text())["url"]
        yield RunningDaemon(process, directory, url, took)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
