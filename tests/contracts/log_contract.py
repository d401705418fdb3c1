"""The conformance suite of the store, second half: the log of events, and requests sent again.

Clauses like those of `store_contract`; they belong to the same suite.
"""

import base64
import math
from datetime import timedelta

import pytest

from coven.core import clock as clocks
from coven.core import ids
from coven.core.ids import ProjectId
from coven.store import Transaction, events, idempotency
from coven.store.cursors import Cursor, EventsGone, MalformedEventCursor
from coven.store.events import Filter
from coven.store.idempotency import IdempotencyKey, IdempotencyMismatch, Reply
from coven.store.statements import parse
from coven.store.values import EVENT_BYTES_MAX
from tests.contracts.store_contract import Refused, clause, gaplessly, in_one_group, log_of
from tests.store import ledger

SECOND = timedelta(seconds=1)


# The log


@clause
async def events_are_numbered_without_gaps_and_their_times_rise_with_their_numbers(store, clock):
    for step, back in enumerate((0, -3600, 7200, -86400, 0)):
        clock.move(timedelta(seconds=back))
        await store.write(ledger.add_all, [f"e{step}{n}" for n in range(3)])
    page = await store.read(events.page, None, limit=100)
    assert [event.seq for event in page.items] == list(range(1, 16))
    times = [event.timestamp for event in page.items]
    assert times == sorted(set(times))
    assert all(clocks.render(clocks.parse(time)) == time for time in times)


@clause
async def the_time_of_a_transaction_is_the_clocks_and_moves_with_it(store, clock):
    for by in (timedelta(0), timedelta(days=400), timedelta(days=-800)):
        clock.move(by)
        for method in (store.write, store.read):
            now = await method(lambda tx: tx.now)
            assert now.utcoffset() == timedelta(0)
            assert abs(now - clock.now()) < timedelta(minutes=1)


@clause
async def pages_of_any_size_tell_every_event_once_and_in_order(store, clock):
    await store.write(ledger.add_all, [f"e{n:02}" for n in range(23)])
    for limit in (1, 2, 7, 22, 23, 24):
        seen, since = [], None
        while True:
            page = await store.read(events.page, since, limit=limit)
            assert len(page.items) <= limit
            seen += [event.entity_id for event in page.items]
            since = page.next_cursor.render()
            if not page.has_more:
                break
        assert seen == [f"e{n:02}" for n in range(23)]
        assert (await store.read(events.page, since, limit=limit)).items == []


@clause
async def a_filter_finds_what_it_names_and_nothing_else(store, clock):
    await store.write(ledger.add_all, [f"e{n}" for n in range(5)])
    for name in ("e1", "e3"):
        await store.write(ledger.remove, name)
    wanted = {
        Filter(type="entry.removed"): ["e1", "e3"],
        Filter(type="entry.*", entity="e1"): ["e1", "e1"],
        Filter(entity="entry:e2"): ["e2"],
        Filter(entity="entry", type="entry.rem*"): ["e1", "e3"],
        Filter(type="entry"): [],
        Filter(entity="entr"): [],
    }
    for filter, names in wanted.items():
        seen, since, more = [], None, True
        while more:
            page = await store.read(events.page, since, limit=1, wanted=filter)
            seen += [event.entity_id for event in page.items]
            since, more = page.next_cursor.render(), page.has_more
        assert seen == names, filter


@clause
async def since_a_time_means_strictly_after_it(store, clock):
    await store.write(ledger.add_all, [f"e{n}" for n in range(4)])
    all_of_them = (await store.read(events.page, None, limit=10)).items
    for number, event in enumerate(all_of_them):
        page = await store.read(events.page, event.timestamp, limit=10)
        assert page.items == all_of_them[number + 1 :]
        finer = event.timestamp.replace("Z", "999+00:00")
        assert (await store.read(events.page, finer, limit=10)).items == page.items
    before = clocks.render(clocks.parse(all_of_them[0].timestamp) - SECOND)
    assert (await store.read(events.page, before, limit=10)).items == all_of_them
    for early in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        page = await store.read(events.page, early, limit=10)
        assert len(page.items) == (4 if early < "1" else 0)


@clause
async def a_place_that_was_never_given_out_is_refused_or_empty_and_never_skips(store, clock):
    await store.write(ledger.add, "a")
    end = await store.read(events.end)
    future = Cursor(end.epoch, end.stream, 10**18 - 1)
    page = await store.read(events.page, future.render(), limit=10)
    assert (page.items, page.has_more, page.next_cursor) == ([], False, future)
    with pytest.raises(EventsGone):
        await store.read(events.page, Cursor("ffffffff", end.stream, 0).render(), limit=10)
    forged = [
        *("x", "AAAA", "=" * 8, "\ud800", "ü", end.render() + "A", end.render()[:-1], " "),
        end.render() + "\n",
        *(_spell(text) for text in (
            f"1|{end.epoch}|{end.stream}|01", f"1|{end.epoch}|{end.stream}|-1",
            f"2|{end.epoch}|{end.stream}|1", f"1|{end.epoch}|{end.stream}|1\n",
            f"1|{end.epoch}|{end.stream}|{10**18}", "1|zzzzzzzz|default|1", "1|||",
        )),
    ]  # fmt: skip
    for text in forged:
        with pytest.raises(MalformedEventCursor):
            await store.read(events.page, text, limit=10)


@clause
async def a_place_before_the_first_event_ever_stays_one(store, clock):
    empty = await store.read(events.end)
    await store.write(ledger.add_all, ["a", "b"])
    page = await store.read(events.page, empty.render(), limit=10)
    assert [event.entity_id for event in page.items] == ["a", "b"]


@clause
async def retention_raises_the_floor_and_places_below_it_are_gone(store, clock):
    await store.write(ledger.add_all, ["a", "b", "c"])
    page = await store.read(events.page, None, limit=2)
    start = await store.read(events.page, None, limit=1)
    clock.move(timedelta(days=1))
    await store.write(ledger.add, "d")
    old = clock.now() - timedelta(hours=1)
    assert await store.read(events.retirable, old) == 3
    assert await store.write(events.retire, old) == 3
    assert await store.write(events.retire, old) == 0
    for place in (start.next_cursor, page.next_cursor):
        with pytest.raises(EventsGone) as caught:
            await store.read(events.page, place.render(), limit=10)
        assert caught.value.details["snapshot"] == "/state"
    for since in (None, "2001-01-01T00:00:00Z"):
        left = await store.read(events.page, since, limit=10)
        assert [(event.seq, event.entity_id) for event in left.items] == [(4, "d")]
    assert await store.write(ledger.add, "e") == 5
    assert [seq for seq, _, _ in await log_of(store)] == [4, 5]


@clause
async def retention_and_new_events_may_share_a_group(store, clock):
    await store.write(ledger.add_all, ["a", "b"])
    clock.move(timedelta(days=1))
    old = clock.now() - timedelta(hours=1)
    outcomes = await in_one_group(
        store, store.write(ledger.add, "c"), store.write(events.retire, old),
        store.write(ledger.add_then_fail, "x", Refused()), store.write(ledger.add, "d"),
    )  # fmt: skip
    assert [outcomes[0], outcomes[1], outcomes[3]] == [3, 2, 4]
    assert [(seq, name) for seq, _, name in await log_of(store)] == [(3, "c"), (4, "d")]


@clause
async def an_event_that_cannot_be_kept_fails_its_own_function_only(store, clock):
    outcomes = await in_one_group(
        store,
        *(
            store.write(lambda tx, fact=fact: tx.emit(ledger.EntryAdded(entity_id="x", note=fact)))
            for fact in ("a\0b", {"deep": ["\0"]}, "\ud800", math.inf, "x" * EVENT_BYTES_MAX)
        ),
        store.write(lambda tx: tx.emit(ledger.EntryAdded(entity_id="x\0"))),
        store.write(lambda tx: tx.emit(ledger.EntryAdded(entity_id="x", note=object()))),
        store.write(ledger.add, "b", note="\\u0000 ü"),
    )
    assert [type(outcome).__name__ for outcome in outcomes] == [
        *["UnstorableValue"] * 4, "ValueTooLarge", "UnstorableValue", "TypeError", "int",
    ]  # fmt: skip
    assert await log_of(store) == gaplessly("b")


# Requests that are sent again

KEY = IdempotencyKey(principal="user:ann", key="k1", request_hash="h1")


@clause
async def a_key_stands_for_what_its_first_use_made(store, clock):
    first, again = ids.new(), ids.new()
    assert await store.write(idempotency.claim, KEY, makes=first) == first
    assert await store.write(idempotency.claim, KEY, makes=again) == first
    assert await store.write(idempotency.claim, None, makes=again) == again
    other = IdempotencyKey(principal="user:bob", key="k1", request_hash="h2")
    assert await store.write(idempotency.claim, other, makes=again) == again
    elsewhere = store.of(ProjectId("other"))
    assert await elsewhere.write(idempotency.claim, KEY, makes=again) == again


@clause
async def a_key_of_another_request_is_refused(store, clock):
    await store.write(idempotency.claim, KEY, makes=ids.new())
    other = IdempotencyKey(principal="user:ann", key="k1", request_hash="h2")
    for attempt in (
        store.write(idempotency.claim, other, makes=ids.new()),
        store.read(idempotency.recall, other),
    ):  # fmt: skip
        with pytest.raises(IdempotencyMismatch):
            await attempt


@clause
async def a_key_claimed_by_a_function_that_failed_is_free(store, clock):
    def claim_and_fail(tx: Transaction) -> None:
        idempotency.claim(tx, KEY, makes="lost")
        raise Refused

    with pytest.raises(Refused):
        await store.write(claim_and_fail)
    assert await store.write(idempotency.claim, KEY, makes="kept") == "kept"


@clause
async def the_first_reply_is_the_one_that_is_repeated(store, clock):
    assert await store.read(idempotency.recall, KEY) is None
    await store.write(idempotency.claim, KEY, makes=ids.new())
    assert await store.read(idempotency.recall, KEY) is None
    for status in (201, 500):
        await store.write(idempotency.remember, KEY, Reply(status=status, body='{"ü":1}'))
    assert await store.read(idempotency.recall, KEY) == Reply(status=201, body='{"ü":1}')


@clause
async def a_key_lives_for_a_day(store, clock):
    await store.write(idempotency.claim, KEY, makes="first")
    await store.write(idempotency.remember, KEY, Reply(status=201, body="{}"))
    clock.move(idempotency.KEPT - timedelta(minutes=2))
    assert await store.write(idempotency.claim, KEY, makes="second") == "first"
    clock.move(timedelta(minutes=4))
    assert await store.read(idempotency.recall, KEY) is None
    old = clock.now() - idempotency.KEPT
    assert await store.read(idempotency.retirable, old) == 1
    assert await store.write(idempotency.claim, KEY, makes="third") == "third"
    assert await store.write(idempotency.retire, old) == 0
    clock.move(timedelta(days=2))
    assert await store.write(idempotency.retire, clock.now() - idempotency.KEPT) == 1


def _spell(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


# Damage


@clause
async def a_check_tells_of_every_way_in_which_a_log_can_be_damaged(store, clock):
    other = store.of(ProjectId("other"))
    damages = {
        "DELETE FROM kb.events WHERE project_id = :project AND seq = 3": {
            "5 events should be kept and 4 are",
            "before event 4 one is missing",
        },
        "DELETE FROM kb.events WHERE project_id = :project AND seq = 1": {
            "5 events should be kept and 4 are",
            "the first event is 2, and 1 should be",
            "before event 2 one is missing",
        },
        "DELETE FROM kb.events WHERE project_id = :project AND seq = 5": {
            "5 events should be kept and 4 are",
            "the last event is 4, and 5 should be",
        },
        "DELETE FROM kb.events WHERE project_id = :project": {"5 events should be kept and 0 are"},
        "UPDATE kb.event_head SET seq = 6 WHERE project_id = :project": {
            "6 events should be kept and 5 are",
            "the last event is 5, and 6 should be",
        },
        "UPDATE kb.event_head SET seq = 4 WHERE project_id = :project": {
            "4 events should be kept and 5 are",
            "the last event is 5, and 4 should be",
        },
        "UPDATE kb.event_head SET floor = 2 WHERE project_id = :project": {
            "3 events should be kept and 5 are",
            "the first event is 1, and 3 should be",
        },
        "UPDATE kb.event_head SET last_at = '2001-01-01T00:00:00.000000Z'"
        " WHERE project_id = :project": {
            "an event is of 2030-01-05T00:00:00.000000Z, later than the log knows"
            " (2001-01-01T00:00:00.000000Z)",
        },
        "UPDATE kb.events SET timestamp = '2030-01-02T00:00:00.000000Z'"
        " WHERE project_id = :project AND seq = 3": {"event 3 is not later than the one before"},
        "DELETE FROM kb.event_head WHERE project_id = :project": {
            "there are events, but the head of the log is missing",
        },
    }
    for number, (statement, told) in enumerate(damages.items()):
        damaged = store.of(ProjectId(f"p{number}"))
        for text in (*_FIVE_EVENTS, statement):
            await damaged.write(_run, text)
        problems = {text for text in await store.check() if text.startswith(f"project p{number}:")}
        assert problems == {f"project p{number}: {text}" for text in told}, statement
    await other.write(ledger.add_all, ["a", "b"])
    assert not any("other" in text for text in await store.check())


@clause
async def a_check_finds_nothing_wrong_with_a_log_whose_beginning_was_retired(store, clock):
    await store.write(ledger.add_all, [f"e{n}" for n in range(6)])
    assert await store.check() == []
    for through in (4, 6):
        await store.write(
            _run, f"DELETE FROM kb.events WHERE project_id=:project AND seq<={through}"
        )
        await store.write(
            _run, f"UPDATE kb.event_head SET floor = {through} WHERE project_id = :project"
        )
        assert await store.check() == []


_FIVE_EVENTS = (
    "INSERT INTO kb.event_head (project_id, epoch, seq, floor, last_at)"
    " VALUES (:project, '00000001', 5, 0, '2030-01-05T00:00:00.000000Z')"
    " ON CONFLICT (project_id) DO UPDATE SET seq = 5, last_at = excluded.last_at",
    *(
        "INSERT INTO kb.events (project_id, seq, type, entity, entity_id, timestamp, data)"
        f" VALUES (:project, {seq}, 'entry.added', 'entry', 'a',"
        f" '2030-01-0{seq}T00:00:00.000000Z', '{{}}')"
        for seq in range(1, 6)
    ),
)


def _run(tx: Transaction, text: str) -> None:
    tx.run(parse(f"-- name: it\n-- By a test.\n{text};", source="a test")["it"])
