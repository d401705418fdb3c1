"""P12: how long the daemon takes until it answers, on a store that has seen much."""

from pathlib import Path

import uvloop

from benchmarks import daemons, fill, recorder, servers
from benchmarks.recorder import Sheet
from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.store import open_store

TITLE = "from the start of the process until it answers: 1,000 workspaces, 10,000 runs, 1 M events"


def measure(sheet: Sheet, *, small: bool) -> None:
    scale, times = (0.001, 1) if small else (1.0, 7)
    names = ["full"] if small else ["empty", "full"]
    counts = {
        "workspaces": int(1_000 * scale),
        "runs": int(10_000 * scale),
        "events": int(1_000_000 * scale),
    }
    sheet.settings |= counts
    with servers.postgres() as server:
        for engine in ("sqlite",) if small else ("sqlite", "postgres"):
            with daemons.scratch() as folder:
                stores = {name: _store(folder / name, engine, server) for name in names}
                fill.fill(stores["full"], **counts)
                took: dict[str, list[float]] = {name: [] for name in names}
                for _ in range(times):
                    for name, url in stores.items():
                        store = "sqlite" if engine == "sqlite" else url
                        with daemons.running(folder / name, store) as daemon:
                            took[name].append(daemon.started_seconds)
            _note(sheet, engine, took)


def _note(sheet: Sheet, engine: str, took: dict[str, list[float]]) -> None:
    beside = None
    for name, seconds in took.items():
        middle = recorder.percentile(seconds, 50)
        aim = recorder.value("≤", 3, "s") if name == "full" else None
        beside = sheet.note(
            f"{engine}: {name} store",
            middle,
            "s",
            n=len(seconds),
            seconds=seconds,
            beside=beside,
            aim=aim,
        )


def _store(directory: Path, engine: str, server: str) -> str:
    (directory / ".coven").mkdir(parents=True, mode=0o700)
    url = f"sqlite:{directory / '.coven' / 'coven.db'}"
    if engine == "postgres":
        url = servers.empty_database(server)
    uvloop.run(_make(url))
    return url


async def _make(url: str) -> None:
    store = await open_store(url, clock=SystemClock(), rooms=ROOMS)
    await store.close()
