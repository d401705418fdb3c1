"""P1: durable journal writes on the embedded store, sixteen writers of 500 bytes each."""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from benchmarks import bare, constant, daemons, load, pace, recorder
from benchmarks.bare import GroupCommit
from benchmarks.bare_sqlite import BareSqlite, fsync_loop
from benchmarks.load import Load
from benchmarks.pace import Rounds
from benchmarks.recorder import Sheet
from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.notifications import Draft, posts
from coven.store import Store, open_store

TITLE = "durable journal writes on SQLite, 16 writers of 500 bytes"
WRITERS = 16
PATH = "/api/v1/notifications"
DRAFT = Draft(kind="task.blocked", title=bare.TITLE, body=bare.BODY)
POSTED = json.dumps({"kind": DRAFT.kind, "title": DRAFT.title, "body": DRAFT.body})

CONSTANT = {**json.loads(POSTED), "id": "0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e"}


def measure(sheet: Sheet, *, small: bool) -> None:
    rounds, seconds = (1, 0.05) if small else (7, 2.0)
    sheet.settings |= {"bytes": len(bare.BODY), "rounds": f"{rounds} of {seconds:g} s"}
    with daemons.scratch() as folder:
        uvloop.run(_measure(sheet, folder, rounds=rounds, seconds=seconds))


async def _measure(sheet: Sheet, folder: Path, *, rounds: int, seconds: float) -> None:
    """The references and ours in turn, so that all see the same machine."""
    await (await opened(f"sqlite:{folder / 'bare.db'}")).close()
    store = await opened(f"sqlite:{folder / 'coven.db'}")
    fsyncs, singles, groups, ours, rest, nothing = (Rounds() for _ in range(6))
    with daemons.running(folder) as daemon, constant.answering(CONSTANT, CONSTANT) as port:
        asked = posting(daemon, seconds=seconds)
        idle = dataclasses.replace(asked, port=port, paths=["/detail"], token="")
        for _ in range(rounds):
            _one_by_one(folder, fsyncs, singles, seconds=seconds / 2)
            groups.add(*await _bare(folder / "bare.db", seconds=seconds))
            ours.add(*await pace.flat_out(write(store), writers=WRITERS, seconds=seconds))
            await through_rest(asked, rest)
            await through_rest(idle, nothing)
        halves, rest_halves, bare_halves = Rounds(), Rounds(), Rounds()
        asked.per_second = rest.rate / 2
        for _ in range(rounds):
            bare_halves.add(
                *await _bare(folder / "bare.db", seconds=seconds, per_second=ours.rate / 2)
            )
            halves.add(
                *await pace.at_rate(
                    write(store), writers=WRITERS, seconds=seconds, per_second=ours.rate / 2
                )
            )
            await through_rest(asked, rest_halves)
    await store.close()
    sheet.settings |= BareSqlite(folder / "bare.db").settings()
    sheet.rounds("fsync of 500 appended bytes", fsyncs)
    single = sheet.rounds("bare, one commit each", singles)
    beside = sheet.rounds("bare group commit", groups, single)
    sheet.rounds("use case `store.write(posts.post)`", ours, beside, aim=recorder.share(0.70))
    sheet.rounds("use case, against one commit each", ours, single, aim=recorder.times("≥", 8))
    sheet.rounds("REST, 16 connections", rest, beside, aim=recorder.share(0.35))
    ceiling = sheet.rounds("the framework alone: a POST answered with a constant", nothing)
    sheet.rounds("REST, against that", rest, ceiling)
    sheet.rounds("bare group commit at the rate of the next line", bare_halves)
    sheet.rounds("use case at half load", halves, aim=recorder.p99(5))
    sheet.rounds("REST at half load", rest_halves, aim=recorder.p99(5))


async def opened(url: str) -> Store:
    """A store with one notification in it, so that nothing happens for the first time later."""
    store = await open_store(url, clock=SystemClock(), rooms=ROOMS)
    await store.write(posts.post, DRAFT)
    return store


def write(store: Store) -> Callable[[], Awaitable[object]]:
    """One durable message through the room's use case."""

    async def one() -> object:
        return await store.write(posts.post, DRAFT)

    return one


def posting(daemon: daemons.RunningDaemon, *, seconds: float) -> Load:
    """The same message through the door."""
    host, port = daemon.address
    return Load(
        host=host,
        port=port,
        method="POST",
        paths=[PATH],
        token=daemon.token,
        body=POSTED,
        connections=WRITERS,
        seconds=seconds,
    )


async def through_rest(asked: Load, rounds: Rounds) -> None:
    """One round of that."""
    answered = await asyncio.to_thread(load.ask, asked)
    rounds.add(answered.per_second, answered.seconds)


async def _bare(
    path: Path, *, seconds: float, per_second: float = 0.0
) -> tuple[float, list[float]]:
    database = BareSqlite(path)
    first = database.last()
    database.close()
    committing = GroupCommit(lambda: BareSqlite(path), first=first)
    if per_second:
        found = await pace.at_rate(
            committing.write, writers=WRITERS, seconds=seconds, per_second=per_second
        )
    else:
        found = await pace.flat_out(committing.write, writers=WRITERS, seconds=seconds)
    await committing.close()
    return found


def _one_by_one(folder: Path, fsyncs: Rounds, singles: Rounds, *, seconds: float) -> None:
    took = fsync_loop(folder, seconds)
    fsyncs.add(len(took) / sum(took), took)
    database = BareSqlite(folder / "bare.db")
    took = bare.one_by_one(database, seconds, first=database.last())
    singles.add(len(took) / sum(took), took)
    database.close()
