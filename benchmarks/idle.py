"""P15: what the daemon costs while nothing happens, and how fast the command line says hello."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks import daemons, recorder
from benchmarks.recorder import Sheet

TITLE = "an idle daemon, and `coven --help`"


def measure(sheet: Sheet, *, small: bool) -> None:
    settle, seconds, times = (0.2, 0.5, 2) if small else (3.0, 30.0, 25)
    sheet.settings |= {"seconds": seconds}
    with daemons.scratch() as folder, daemons.running(folder) as daemon:
        time.sleep(settle)
        computed, began = daemon.cpu_seconds(), time.perf_counter()
        time.sleep(seconds)
        cpu = (daemon.cpu_seconds() - computed) / (time.perf_counter() - began)
        sheet.note("memory", daemon.resident_mib(), "MiB", n=1, aim=recorder.value("≤", 120, "MiB"))
        sheet.note("processor", cpu * 100, "% of a core", n=1, aim=recorder.value("≤", 0.5, "%"))
    command = [str(Path(sys.executable).with_name("coven")), "--help"]
    nothing, hello = [], []
    for _ in range(times):
        nothing.append(_wall([sys.executable, "-c", "pass"]))
        hello.append(_wall(command))
    empty = recorder.percentile(nothing, 50) * 1000
    beside = sheet.note("Python doing nothing", empty, "ms", n=times, seconds=nothing)
    sheet.note(
        "`coven --help`",
        recorder.percentile(hello, 50) * 1000,
        "ms",
        n=times,
        seconds=hello,
        beside=beside,
        aim=recorder.value("≤", 200, "ms"),
    )


def _wall(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
