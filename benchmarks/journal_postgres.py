"""P2: the same durable writes on PostgreSQL, sixty functions a commit."""

import uvloop

from benchmarks import daemons, journal, pace, recorder, servers
from benchmarks.bare import GroupCommit, one_by_one
from benchmarks.bare_postgres import BarePostgres
from benchmarks.pace import Rounds
from benchmarks.recorder import Sheet

TITLE = "durable journal writes on PostgreSQL, 500 bytes, 60 functions a commit"
WRITERS = 120  # while sixty are committed, the next sixty gather
FEW = 16


def measure(sheet: Sheet, *, small: bool) -> None:
    rounds, seconds = (1, 0.05) if small else (16, 0.7)
    sheet.settings |= {"writers": WRITERS, "rounds": f"{rounds} of {seconds:g} s"}
    with servers.postgres() as server, daemons.scratch() as folder:
        bare, ours, house = (servers.empty_database(server) for _ in range(3))
        with daemons.running(folder, house) as daemon:
            asked = journal.posting(daemon, seconds=seconds)
            uvloop.run(_measure(sheet, (bare, ours), asked, rounds=rounds, seconds=seconds))


async def _measure(
    sheet: Sheet, urls: tuple[str, str], asked: journal.Load, *, rounds: int, seconds: float
) -> None:
    bare_url, our_url = urls
    await (await journal.opened(bare_url)).close()
    store = await journal.opened(our_url)
    singles, plain, groups, ours, few, few_ours, rest = (Rounds() for _ in range(7))
    write = journal.write(store)

    async def bare(found: Rounds, *, writers: int = WRITERS, savepoints: bool = True) -> None:
        await _bare(bare_url, found, writers=writers, seconds=seconds, savepoints=savepoints)

    async def through_use_case(found: Rounds, *, writers: int = WRITERS) -> None:
        found.add(*await pace.flat_out(write, writers=writers, seconds=seconds))

    steps = [
        lambda: _one_by_one(bare_url, singles, seconds=seconds),
        lambda: bare(plain, savepoints=False),
        lambda: bare(groups),
        lambda: through_use_case(ours),
        lambda: bare(few, writers=FEW),
        lambda: through_use_case(few_ours, writers=FEW),
        lambda: journal.through_rest(asked, rest),
    ]
    for number in range(rounds):
        # There and back: the server's own work (its log, its cleaning) falls on whoever is next.
        for step in steps if number % 2 == 0 else reversed(steps):
            await step()
    await store.close()
    sheet.settings |= BarePostgres(bare_url, savepoints=False).settings()
    single = sheet.rounds("bare, one commit each", singles)
    beside = sheet.rounds("bare, the same statements, 60 a commit", groups, single)
    sheet.rounds("use case `store.write(posts.post)`", ours, beside, aim=recorder.share(0.70))
    without = sheet.rounds("bare without savepoints, 60 a commit", plain, single)
    sheet.rounds("use case, against that", ours, without)
    beside = sheet.rounds("bare, the same statements, 16 writers", few, single)
    sheet.rounds("use case, 16 writers", few_ours, beside)
    sheet.rounds("REST, 16 connections", rest, beside)


async def _bare(url: str, found: Rounds, *, writers: int, seconds: float, savepoints: bool) -> None:
    database = BarePostgres(url, savepoints=savepoints)
    first = database.last()
    committing = GroupCommit(lambda: database, first=first)
    found.add(*await pace.flat_out(committing.write, writers=writers, seconds=seconds))
    await committing.close()


async def _one_by_one(url: str, singles: Rounds, *, seconds: float) -> None:
    database = BarePostgres(url, savepoints=False)
    took = one_by_one(database, seconds, first=database.last())
    singles.add(len(took) / sum(took), took)
    database.close()
