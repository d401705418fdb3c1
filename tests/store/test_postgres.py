"""What is particular to the shared engine: connections that die, other daemons, secrets."""

import asyncio
import json
import logging
import re
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.core.ids import ProjectId
from coven.store import Store, Transaction, events, open_store, postgres
from coven.store.cursors import EventsGone
from coven.store.engine import (
    ForeignDatabase,
    OutcomeUnknown,
    StoreBusy,
    StoreReadOnly,
    StoreUnavailable,
)
from coven.store.store import make_engine
from tests.contracts.store_contract import Gate, gaplessly, in_one_group, log_of
from tests.eventually import eventually
from tests.store import ledger
from tests.store.relay import Relay


@pytest.fixture
def engine_name() -> str:
    return "postgres"


@pytest.fixture
async def store(store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    opened = await open_store(store_url, clock=clock, rooms=ledger.ROOMS)
    yield opened
    await opened.close()


@pytest.fixture
async def other(store: Store, store_url: str, clock: SystemClock) -> AsyncIterator[Store]:
    """The store of another daemon on the same database."""
    opened = await open_store(store_url, clock=clock, rooms=ledger.ROOMS)
    yield opened
    await opened.close()


@pytest.fixture
def outside(store_url: str) -> Iterator["psycopg.Connection[Any]"]:
    """A connection that belongs to nobody in the house."""
    with psycopg.connect(store_url, autocommit=True) as connection:
        yield connection


def end_backends(outside: "psycopg.Connection[Any]") -> None:
    """End every connection of the house at once, as a restart of the server would."""
    outside.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


# Connections that die


async def test_a_connection_that_died_while_idle_is_noticed_and_opened_again(store, outside):
    await store.write(ledger.add, "a")
    assert await store.read(ledger.names) == ["a"]
    await asyncio.gather(*(store.read(ledger.names) for _ in range(8)))
    end_backends(outside)
    assert await store.read(ledger.names) == ["a"]
    outcomes = await in_one_group(store, *(store.write(ledger.add, f"e{n}") for n in range(5)))
    assert outcomes == [2, 3, 4, 5, 6]
    assert len(await store.read(ledger.names)) == 6


@pytest.mark.parametrize("swallowed", [False, True])
async def test_a_connection_that_dies_in_the_middle_of_a_group_costs_nobody_anything(
    store, outside, swallowed
):
    attempts: list[int] = []

    def unlucky(tx: Transaction) -> int:
        attempts.append(1)
        if len(attempts) == 1:
            end_backends(outside)
        if not swallowed:
            return ledger.add(tx, "b")
        try:
            return ledger.add(tx, "b")
        except StoreUnavailable:
            return -1

    outcomes = await in_one_group(
        store, store.write(ledger.add, "a"), store.write(unlucky), store.write(ledger.add, "c")
    )
    assert outcomes == [1, 2, 3]
    assert len(attempts) == 2
    assert await log_of(store) == gaplessly("a", "b", "c")


BOMB = """
CREATE SEQUENCE kb.bomb;
CREATE FUNCTION kb.explode() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('kb.bomb') = 1 THEN
    PERFORM pg_terminate_backend(pg_backend_pid());
    PERFORM pg_sleep(5);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER bomb AFTER INSERT ON kb.entries DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION kb.explode();
"""


async def test_a_commit_that_was_cut_off_before_it_happened_is_run_again(store, outside):
    outside.execute(BOMB)
    outcomes = await in_one_group(store, store.write(ledger.add, "a"), store.write(ledger.add, "b"))
    assert outcomes == [1, 2]
    assert await log_of(store) == gaplessly("a", "b")


async def test_a_commit_that_was_cut_off_after_it_happened_is_not_run_again(store, outside):
    """The server waits for a standby that does not exist, and is ended while it waits."""
    attempts: list[int] = []

    def add(tx: Transaction) -> int:
        attempts.append(1)
        return ledger.add(tx, "a")

    with unanswered_commits(outside):
        writing = asyncio.create_task(store.write(add))
        await eventually(lambda: _waiting_for_a_standby(outside))
        end_backends(outside)
        outside.execute("ALTER SYSTEM RESET synchronous_standby_names")
        outside.execute("SELECT pg_reload_conf()")
        assert await writing == 1
    assert len(attempts) == 1
    assert await log_of(store) == gaplessly("a")


@contextmanager
def unanswered_commits(outside: "psycopg.Connection[Any]") -> Iterator[None]:
    outside.execute("SET synchronous_commit = local")
    outside.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    outside.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        outside.execute("ALTER SYSTEM RESET synchronous_standby_names")
        outside.execute("SELECT pg_reload_conf()")


def _waiting_for_a_standby(outside: "psycopg.Connection[Any]") -> bool:
    found = outside.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return found.fetchone() is not None


class HurriedClock(SystemClock):
    """For whom a second passes in ten milliseconds, so that waiting for a lost server is short."""

    def monotonic(self) -> float:
        return super().monotonic() * 100


@pytest.mark.parametrize("landed", [False, True])
async def test_nobody_claims_to_know_a_commit_whose_server_cannot_be_asked(
    store_url, tmp_path, landed
):
    with Relay(store_url, tmp_path) as relay:
        store = await open_store(relay.url, clock=HurriedClock(), rooms=ledger.ROOMS)
        await store.write(ledger.add, "a")
        relay.cut_at(b"COMMIT\0", deliver=landed)
        outcomes = await asyncio.gather(
            store.write(ledger.add, "b"),
            store.write(ledger.remove, "nothing"),
            return_exceptions=True,
        )
        with pytest.raises(StoreUnavailable):
            await store.write(ledger.add, "c")
        relay.mend()
        names = await store.read(ledger.names)
        log = await log_of(store)
        await store.close()
    assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 2
    assert names == (["a", "b"] if landed else ["a"])
    assert log == gaplessly(*names)


async def test_a_read_whose_connection_dies_is_told_and_the_next_one_works(store, outside):
    def unlucky(view: Any) -> Any:
        end_backends(outside)
        return ledger.names(view)

    with pytest.raises(StoreUnavailable):
        await store.read(unlucky)
    assert await store.read(ledger.names) == []


# Other daemons


async def test_two_daemons_number_the_events_of_one_log_without_gap_or_double(store, other):
    await asyncio.gather(
        *(one.write(ledger.add, f"{name}{n:03}") for n in range(120)
          for name, one in (("x", store), ("y", other)))
    )  # fmt: skip
    log = await log_of(store)
    assert [seq for seq, _, _ in log] == list(range(1, 241))
    assert log == await log_of(other)
    for letter in "xy":
        mine = [name for _, _, name in log if name.startswith(letter)]
        assert mine == [f"{letter}{n:03}" for n in range(120)]


async def test_what_one_daemon_commits_wakes_the_listeners_of_the_other(store, other):
    start = await other.read(events.end)
    seen: list[int] = []

    async def listen() -> None:
        async for batch in other.feed.follow(start):
            seen.extend(event.seq for event in batch.items)

    listening = asyncio.create_task(listen())
    for number in range(20):
        await store.write(ledger.add, f"e{number}")
        await eventually(lambda number=number: len(seen) == number + 1)
    await asyncio.gather(
        *(one.write(ledger.add, f"{id(one)}{n}") for n in range(100) for one in (store, other))
    )
    await eventually(lambda: len(seen) == 220)
    assert seen == list(range(1, 221))
    listening.cancel()


async def test_a_daemon_that_is_leaving_still_tells_the_others(store, other):
    start = await other.read(events.end)
    follower = other.feed.follow(start)
    first = asyncio.ensure_future(anext(follower))
    await store.write(ledger.add, "last words")
    await store.close()
    batch = await asyncio.wait_for(first, 5)
    assert [event.entity_id for event in batch.items] == ["last words"]
    await follower.aclose()


async def test_a_listener_whose_connection_died_catches_up_when_it_is_back(
    store, other, outside, caplog
):
    follower = other.feed.follow(await other.read(events.end))
    first = asyncio.ensure_future(anext(follower))
    end_backends(outside)
    await store.write(ledger.add, "a")
    batch = await asyncio.wait_for(first, 10)
    assert [event.entity_id for event in batch.items] == ["a"]
    await follower.aclose()


async def test_projects_are_written_side_by_side(store):
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await asyncio.to_thread(gate.reached.wait, 10)
    for name in ("p1", "p2", "p3"):
        assert await store.of(ProjectId(name)).write(ledger.add, "a") == 1
    gate.open.set()
    await held


async def test_a_group_waits_for_another_daemons_and_gives_up_when_that_stands_still(
    store_url, store, monkeypatch
):
    hurried = postgres._OPTIONS.replace("lock_timeout=10000", "lock_timeout=100")
    monkeypatch.setitem(postgres._CONNECTING, "options", hurried)
    impatient = await open_store(store_url, clock=SystemClock(), rooms=ledger.ROOMS)
    await store.write(ledger.add, "a")
    gate = Gate()
    held = asyncio.create_task(store.write(gate))
    await asyncio.to_thread(gate.reached.wait, 10)
    with pytest.raises(StoreBusy):
        await impatient.write(ledger.add, "b")
    gate.open.set()
    await held
    assert await impatient.write(ledger.add, "b") == 2
    await impatient.close()


async def test_daemons_that_start_together_migrate_once(store_url):
    stores = await asyncio.gather(
        *(open_store(store_url, clock=SystemClock(), rooms=ledger.ROOMS) for _ in range(4))
    )
    await asyncio.gather(*(one.write(ledger.add, f"e{n}") for n, one in enumerate(stores)))
    assert [seq for seq, _, _ in await log_of(stores[0])] == [1, 2, 3, 4]
    await asyncio.gather(*(one.close() for one in stores))


async def test_a_schema_of_somebody_else_is_left_alone(store_url, outside):
    outside.execute("CREATE SCHEMA kb; CREATE TABLE kb.events (theirs int)")
    with pytest.raises(ForeignDatabase):
        await open_store(store_url, clock=SystemClock(), rooms=ledger.ROOMS)
    assert outside.execute("SELECT count(*) FROM kb.events").fetchone() == (0,)


async def test_a_check_of_a_database_without_our_tables_says_so(store_url):
    engine = await asyncio.to_thread(make_engine, store_url, clock=SystemClock())
    assert await asyncio.to_thread(engine.check) == ["the tables of the store are missing"]
    await asyncio.to_thread(engine.close)


async def test_a_check_tells_of_indexes_and_constraints_that_do_not_hold(store, outside):
    outside.execute(
        "ALTER TABLE kb.entries ADD CONSTRAINT positive CHECK (amount > 0) NOT VALID;"
        "CREATE INDEX by_note ON kb.entries (note)"
    )
    outside.execute(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'kb.by_note'::regclass"
    )
    assert await store.check() == [
        "constraint positive: it is not valid",
        "index by_note: it is not valid",
    ]


async def test_a_check_says_when_nothing_can_look_at_the_indexes(store, caplog):
    assert await store.check() == []
    assert "indexes were not looked at: that needs the extension amcheck" in caplog.text


AMCHECK = """
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
  VALUES (90001, 'amcheck', 10, 'kb'::regnamespace, true, '1.4');
CREATE FUNCTION kb.bt_index_check(looked regclass, whole boolean) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN
  IF whole AND looked = 'kb.event_head_pkey'::regclass THEN
    RAISE 'item order invariant violated' USING ERRCODE = 'index_corrupted';
  END IF;
END $$;
"""


async def test_a_check_has_amcheck_look_at_every_index_where_it_is_there(store, outside, caplog):
    """The server of the tests comes without that extension, so a function stands in for it."""
    outside.execute(AMCHECK)
    try:
        assert await store.check() == [
            "index kb.event_head_pkey: The database file is damaged: item order invariant violated."
        ]
        assert "not looked at" not in caplog.text
    finally:
        outside.execute("DELETE FROM pg_extension WHERE oid = 90001")


async def test_the_step_of_the_guide_that_renews_the_epochs_makes_other_logs(store, outside):
    """What the guide to PostgreSQL says to do after going back to a backup of the server."""
    guide = Path(__file__).parents[2] / "docs" / "guides" / "postgresql.md"
    (step,) = re.findall(r"^UPDATE kb\.event_head .*$", guide.read_text(encoding="utf-8"), re.M)
    others = [store, store.of(ProjectId("other"))]
    for each in others:
        await each.write(ledger.add, "a")
    places = [(await each.read(events.end)).render() for each in others]
    outside.execute(step.encode())
    for each, place in zip(others, places, strict=True):
        with pytest.raises(EventsGone):
            await each.read(events.page, place, limit=10)
        assert await each.write(ledger.add, "b") == 2
    epochs = {row[0] for row in outside.execute("SELECT epoch FROM kb.event_head")}
    assert len(epochs) == 2
    assert all(re.fullmatch("[0-9a-f]{8}", epoch) for epoch in epochs)
    assert await store.check() == []


async def test_a_role_that_may_only_read_is_told_so(store, store_url, outside):
    outside.execute("DROP ROLE IF EXISTS coven_reader; CREATE ROLE coven_reader LOGIN")
    outside.execute("GRANT USAGE ON SCHEMA kb TO coven_reader")
    outside.execute("GRANT SELECT ON ALL TABLES IN SCHEMA kb TO coven_reader")
    try:
        with pytest.raises(StoreReadOnly):
            await open_store(
                store_url.replace("postgres:@", "coven_reader:@"),
                clock=SystemClock(),
                rooms=ledger.ROOMS,
            )
    finally:
        outside.execute("DROP OWNED BY coven_reader; DROP ROLE coven_reader")


# Secrets

SECRET = "pa55-of-nobody"
ADDRESSES = [
    "postgresql://ann:{}@127.0.0.1:1/x",
    "postgresql://ann:{}/y@127.0.0.1/x",
    "postgresql://ann:y@{}@nohost.invalid/x",
    "postgresql://ann:{}%zz@127.0.0.1/x",
    "postgresql://ann@127.0.0.1:1/x?password={}&zz=1",
    "postgresql://ann@127.0.0.1:{}/x",
    "mysql://ann:{}@127.0.0.1/x",
    "host=127.0.0.1 port=1 password={}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_part_of_a_password_is_told_logged_or_chained(address, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(CovenError) as caught:
        make_engine(address.format(SECRET), clock=SystemClock())
    error = caught.value
    told = [error.message, json.dumps(error.details), error.remedy, caplog.text]
    chained = "".join(str(each) for each in _chain(error))
    assert SECRET not in " ".join(told) + chained
    assert traceback.format_exception(error)


def _chain(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_the_threads_of_an_engine_end_with_it(store_url, tmp_path: Path):
    before = set(threading.enumerate())
    engine = make_engine(store_url, clock=SystemClock())
    engine.listen(lambda project, seq: None)
    engine.close()
    assert {thread for thread in threading.enumerate() if thread.is_alive()} <= before
