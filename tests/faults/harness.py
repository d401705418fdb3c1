"""A real daemon that can be killed at any moment, and what it takes to look after it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

START_SECONDS_MAX = 30.0
END_SECONDS_MAX = 20.0
LOOK_SECONDS = 0.005

PROVE = os.environ.get("COVEN_PROVE") == "1"


@dataclass(slots=True)
class RealDaemon:
    """`python -m coven.daemon up` in a directory, as a user would have it."""

    directory: Path
    store: str = "sqlite"
    environment: dict[str, str] = field(default_factory=dict[str, str])
    process: subprocess.Popen[bytes] | None = None

    def launch(self, *, failpoints: str = "", offset: str = "") -> None:
        """Start the process; it may die at any moment from here on."""
        environment = {**os.environ, **self.environment, "COVEN_FAILPOINTS": failpoints}
        if offset:
            environment["COVEN_CLOCK_OFFSET"] = offset
        with open(self.directory / "daemon.out", "ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "coven.daemon", "up", "--port", "0", "--store", self.store],
                cwd=self.directory,
                env=environment,
                stdout=output,
                stderr=output,
            )

    def start(self, *, failpoints: str = "", offset: str = "") -> bool:
        """Start it and wait until it answers; False when it died before that."""
        self.launch(failpoints=failpoints, offset=offset)
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.is_dead:
                return False
            if self.answers:
                return True
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"the daemon did not start:\n{self.output}")

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self.process is None or self.process.poll() is not None

    @property
    def answers(self) -> bool:
        """Whether its address is told."""
        with contextlib.suppress(OSError, ValueError):
            told = json.loads((self.directory / ".coven/covend.json").read_text())
            return self.process is not None and told["pid"] == self.process.pid
        return False

    @property
    def output(self) -> str:
        """What all processes in this directory have printed."""
        return (self.directory / "daemon.out").read_text(errors="replace")[-4_000:]

    def kill(self) -> None:
        """SIGKILL: no handler, no flush, no goodbye."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(END_SECONDS_MAX)

    def stop(self) -> int:
        """SIGTERM, and wait for the end; the exit code (negative: the signal that ended it)."""
        assert self.process is not None, "it was started"
        if not self.is_dead:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_SECONDS_MAX)

    def connect(self) -> httpx.AsyncClient:
        """Plain HTTP over its Unix socket."""
        transport = httpx.AsyncHTTPTransport(uds=str(self.directory / ".coven/covend.sock"))
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=10)


@contextlib.contextmanager
def real_daemon(directory: Path, store: str = "sqlite") -> Iterator[RealDaemon]:
    """A daemon that is not left behind, whatever the test does."""
    directory.mkdir(parents=True, exist_ok=True)
    daemon = RealDaemon(directory, store)
    try:
        yield daemon
    finally:
        daemon.kill()
