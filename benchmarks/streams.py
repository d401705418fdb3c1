"""P5: many readers of `/events` while much happens: nothing lost, nothing late, memory flat."""

import json
import subprocess
import sys
import threading
import time
from array import array
from dataclasses import dataclass, field
from typing import Any

from benchmarks import daemons, journal, listeners, load, recorder
from benchmarks.daemons import RunningDaemon
from benchmarks.recorder import Sheet

TITLE = "server-sent events: 500 readers, 1,000 events a second"
SETTLE_SECONDS = 2.0


@dataclass(slots=True)
class Watched:
    """What was seen from outside while it ran."""

    posted: int = 0
    rate: float = 0.0
    memory_mib: list[float] = field(default_factory=list[float])
    cpu: float = 0.0


def measure(sheet: Sheet, *, small: bool) -> None:
    readers, per_second, seconds, warm = (20, 100, 1.0, 0.5) if small else (500, 1_000, 70.0, 30.0)
    sheet.settings |= {"readers": readers, "events a second": per_second, "seconds": seconds}
    with daemons.scratch() as folder, daemons.running(folder) as daemon:
        process = _start(daemon, readers)
        watched = _post(daemon, per_second=per_second, seconds=seconds, warm=warm)
        time.sleep(SETTLE_SECONDS if not small else 0.3)
        out, _ = process.communicate()
    told, _, raw = out.partition(b"\n")
    found = json.loads(told)
    late = array("d")
    late.frombytes(raw)
    _note(sheet, found, late.tolist(), watched, readers)


def _note(
    sheet: Sheet, found: dict[str, int], late: list[float], watched: Watched, readers: int
) -> None:
    deliveries = found["delivered"]
    missing = watched.posted * readers - deliveries
    sheet.note("events posted", watched.rate, "/s", n=watched.posted)
    sheet.note(
        "age of the oldest event in each piece that arrived",
        recorder.percentile(late, 50) * 1000,
        "ms",
        n=len(late),
        seconds=late,
        aim=recorder.p99(100),
    )
    lost = found["lost"] + found["doubled"] + found["closed"] + abs(missing)
    sheet.note(
        "events lost or doubled, and connections that ended",
        lost,
        "",
        n=deliveries,
        aim=recorder.value("≤", 0, ""),
    )
    before, *_, after = watched.memory_mib
    reference = sheet.note("memory once the ring of events is full", before, "MiB", n=1)
    sheet.note(
        "memory at the end", after, "MiB", n=1, beside=reference, aim=recorder.times("≤", 1.1)
    )
    sheet.note("processor of the daemon", watched.cpu * 100, "% of a core", n=1)


def _start(daemon: RunningDaemon, readers: int) -> subprocess.Popen[bytes]:
    """The readers, each of them connected and at its place."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.listeners"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    host, port = daemon.address
    told: dict[str, Any] = {"host": host, "port": port, "token": daemon.token}
    process.stdin.write(json.dumps({**told, "listeners": readers}).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == listeners.STARTED, "every reader is connected"
    return process


def _post(daemon: RunningDaemon, *, per_second: float, seconds: float, warm: float) -> Watched:
    """Post at that rate, and look at the daemon's memory meanwhile."""
    watched = Watched()
    asked = journal.posting(daemon, seconds=seconds)
    asked.per_second = per_second

    def post() -> None:
        answered = load.ask(asked)
        watched.posted, watched.rate = len(answered.seconds), answered.per_second

    poster = threading.Thread(target=post)
    began, computed = time.perf_counter(), daemon.cpu_seconds()
    poster.start()
    while poster.is_alive():
        poster.join(0.5)
        if time.perf_counter() - began >= warm:
            watched.memory_mib.append(daemon.resident_mib())
    watched.memory_mib.append(daemon.resident_mib())
    watched.cpu = (daemon.cpu_seconds() - computed) / (time.perf_counter() - began)
    return watched
