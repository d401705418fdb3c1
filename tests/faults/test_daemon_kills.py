"""The daemon is killed: at every armed point, and at random moments. Nothing promised is lost.

Each case prints its seed; `COVEN_SEED=…` replays it. CI runs a sample with fresh seeds, `make
prove` the full counts.
"""

import asyncio
import os
import random
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from coven.core import failpoints
from coven.daemon import boot  # noqa: F401 - declares the failpoints of everything it starts
from tests.faults.harness import PROVE, RealDaemon, real_daemon
from tests.faults.proof import record
from tests.faults.workload import Told, verify, work

pytestmark = [pytest.mark.fault, pytest.mark.timeout(180)]

SAMPLE = 6
FULL = 200
WRITES = 120

BOOT = ("store.migration.before", "daemon.boot.", "daemon.file.", "store.lock.taken")
ELSEWHERE = ("blobs.",)
"""Points of the store's folders, which have a harness of their own beside them."""

POINTS = [name for name in failpoints.declared() if not name.startswith(ELSEWHERE)]


def seeds(count: int) -> list[int]:
    """Fresh seeds, or the one that is to be replayed."""
    replay = os.environ.get("COVEN_SEED")
    return [int(replay)] if replay else [secrets.randbelow(10**9) for _ in range(count)]


@pytest.fixture
def daemon(tmp_path: Path, engine_name: str, store_url: str) -> Iterator[RealDaemon]:
    store = "sqlite" if engine_name == "sqlite" else store_url
    with real_daemon(tmp_path / "p", store) as started:
        yield started


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_this_point_loses_nothing(daemon: RealDaemon, point: str) -> None:
    seed = seeds(1)[0]
    print(f"COVEN_SEED={seed} point={point}")
    rng, told = random.Random(seed), Told()
    retention = point.startswith("retention.")
    if not point.startswith(BOOT) or (rng.random() < 0.5 and point != "store.migration.before"):
        _live(daemon, told, rng, failpoints="")
        daemon.kill()
    hit = rng.randint(1, 4 if point.startswith(BOOT) else 30)
    if retention or point.startswith(("daemon.boot", "daemon.stop", "store.lock", "daemon.file")):
        hit = 1
    offset = "25h" if retention else ""
    _live(daemon, told, rng, failpoints=f"{point}=kill@{hit}", offset=offset)
    assert daemon.stop() == -9, f"{point} was never reached:\n{daemon.output}"
    assert daemon.start(offset=offset), daemon.output
    verdict = asyncio.run(verify(daemon, told, retention=retention))
    assert daemon.stop() == 0, daemon.output
    record(daemon, told, verdict, kind="armed", point=point, seed=seed, kills=1)


@pytest.mark.parametrize("number", range(FULL if PROVE else SAMPLE))
def test_a_kill_at_a_random_moment_loses_nothing(daemon: RealDaemon, number: int) -> None:
    seed = seeds(1)[0]
    print(f"COVEN_SEED={seed} number={number}")
    rng, told = random.Random(seed), Told()
    lives = rng.randint(1, 3)
    for _ in range(lives):
        booting = rng.random() < 0.2
        moment = rng.uniform(0.0, 1.0)
        if booting:
            daemon.launch()
        else:
            assert daemon.start(), daemon.output
        killer = threading.Timer(moment, daemon.kill)
        killer.start()
        if not booting:
            asyncio.run(work(daemon, told, rng, writes=WRITES * 100))
        killer.join()
    assert daemon.start(), daemon.output
    verdict = asyncio.run(verify(daemon, told))
    record(daemon, told, verdict, kind="random", point="", seed=seed, kills=lives)


def _live(
    daemon: RealDaemon, told: Told, rng: random.Random, *, failpoints: str, offset: str = ""
) -> None:
    """One life of a daemon: it starts, it is worked with, and it may die at any moment of that."""
    if daemon.start(failpoints=failpoints, offset=offset):
        asyncio.run(work(daemon, told, rng, writes=WRITES))
