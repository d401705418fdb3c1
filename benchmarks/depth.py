"""P4: pages of a list of a million rows: the first and the thousandth, beside a small store's."""

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import daemons, fill, journal, load, recorder, servers
from benchmarks.daemons import RunningDaemon
from benchmarks.load import Load
from benchmarks.pace import Rounds
from benchmarks.recorder import Sheet
from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.store import open_store

TITLE = "pages of 50 out of 1,000,000 notifications and events, through REST"
LIMIT = 50
LISTS = {"notifications": (journal.PATH, "cursor"), "events": ("/events", "since")}


def measure(sheet: Sheet, *, small: bool) -> None:
    rows, few, page, rounds = (5_000, 500, 20, 1) if small else (1_000_000, 1_000, 1_000, 15)
    asked = 20 if small else 100
    sheet.settings |= {"rows": rows, "few": few, "rounds": f"{rounds} of {asked} requests"}
    with contextlib.ExitStack() as held:
        url = held.enter_context(servers.postgres())
        for engine in ("sqlite", "postgres"):
            with daemons.scratch() as folder:
                made = functools.partial(_daemon, folder, engine, url)
                with made("large", rows) as large, _beside(made, large, few, small) as little:
                    uvloop.run(
                        _measure(sheet, engine, large, little, page=page, rounds=rounds, n=asked)
                    )


def _beside(
    made: Callable[[str, int], AbstractContextManager[RunningDaemon]],
    large: RunningDaemon,
    few: int,
    small: bool,
) -> AbstractContextManager[RunningDaemon]:
    """The store to compare with; where only the benchmark is proved, the same one will do."""
    return contextlib.nullcontext(large) if small else made("small", few)


@contextlib.contextmanager
def _daemon(
    folder: Path, engine: str, server: str, name: str, rows: int
) -> Iterator[RunningDaemon]:
    """A daemon on a store of so many rows."""
    directory = folder / name
    (directory / ".coven").mkdir(parents=True, mode=0o700)
    store = f"sqlite:{directory / '.coven' / 'coven.db'}"
    if engine == "postgres":
        store = servers.empty_database(server)
    uvloop.run(_make(store))
    fill.fill(store, notifications=rows, events=rows)
    with daemons.running(directory, "sqlite" if engine == "sqlite" else store) as daemon:
        yield daemon


async def _make(url: str) -> None:
    store = await open_store(url, clock=SystemClock(), rooms=ROOMS)
    await store.close()


async def _measure(
    sheet: Sheet,
    engine: str,
    large: RunningDaemon,
    little: RunningDaemon,
    *,
    page: int,
    rounds: int,
    n: int,
) -> None:
    for name, (path, cursor) in LISTS.items():
        first = f"{path}?limit={LIMIT}"
        deep = await _walk(large, first, cursor, pages=page)
        places = [(little, first), (large, first), (large, deep)]
        found = [Rounds() for _ in places]
        for _ in range(rounds):
            for rounds_of, (daemon, asked) in zip(found, places, strict=True):
                took = await _ask(daemon, asked, n=n)
                rounds_of.add(recorder.percentile(took, 50) * 1000, took)
        few, rows = sheet.settings["few"], sheet.settings["rows"]
        beside = sheet.rounds(f"{engine}: first page of {few:,} {name}", found[0], unit="ms")
        aim = recorder.times("≤", 1.3)
        for told, rounds_of in zip(("first page", f"page {page:,}"), found[1:], strict=True):
            said = f"{engine}: {told} of {rows:,} {name}"
            sheet.rounds(said, rounds_of, beside, aim=aim, unit="ms")


async def _walk(daemon: RunningDaemon, first: str, cursor: str, *, pages: int) -> str:
    """Where the last of so many pages is, found by reading those before it."""
    connection = await load.connect(_load(daemon, first))
    asked = first
    for _ in range(pages - 1):
        told: Any = json.loads(await connection.send(load.render(_load(daemon, asked), asked)))
        asked = f"{first}&{cursor}={told['next_cursor']}"
    connection.close()
    return asked


async def _ask(daemon: RunningDaemon, path: str, *, n: int) -> list[float]:
    """How long each of so many answers took, one after the other."""
    connection = await load.connect(_load(daemon, path))
    request = load.render(_load(daemon, path), path)
    took: list[float] = []
    for _ in range(n):
        began = time.perf_counter()
        await connection.send(request)
        took.append(time.perf_counter() - began)
    connection.close()
    return took


def _load(daemon: RunningDaemon, path: str) -> Load:
    host, port = daemon.address
    return Load(host=host, port=port, method="GET", paths=[path], token=daemon.token)
