"""Following: every event once and in order, whatever happens to the connection."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from coven.client import (
    AccessDenied,
    Coven,
    DaemonNotRunning,
    Event,
    EventStream,
    Resync,
    UnreadableReply,
)
from tests.client.peer import (
    Answer,
    Peer,
    event,
    frame,
    hangs_up,
    opening,
    peer,
    refusal,
    replies,
    says,
    says_and_waits,
)
from tests.eventually import eventually


async def _seqs(stream: EventStream, count: int) -> list[int]:
    async with asyncio.timeout(5):
        found: list[int] = []
        async for happened in stream:
            assert isinstance(happened, Event)
            found.append(happened.seq)
            if len(found) == count:
                break
        return found


async def test_a_broken_stream_goes_on_after_the_last_whole_event():
    answers: list[Answer] = [
        says(opening(), event(1), event(2), event(3)[:-20]),
        says(opening("c2"), event(3)),
        hangs_up,
        replies(503, refusal("BUSY")),
        says(opening("c3"), event(4)),
    ]
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        stream = coven.events.follow("c0")
        assert await _seqs(stream, 4) == [1, 2, 3, 4]
        targets = [heard.target for heard in server.heard]
    assert targets == [
        "/events?since=c0",
        "/events?since=c2",
        "/events?since=c3",
        "/events?since=c3",
        "/events?since=c3",
    ]


async def test_a_daemon_that_repeats_itself_does_not_make_us_repeat():
    answers = [says(opening(), event(1), event(2)), says(opening(), event(1), event(2), event(3))]
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        assert await _seqs(coven.events.follow("c0"), 3) == [1, 2, 3]


async def test_a_heartbeat_moves_the_place_where_a_filtered_stream_goes_on():
    answers = [
        says(opening(), event(1), frame("heartbeat", "c9", {})),
        says(opening("c9"), event(10)),
    ]
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        stream = coven.events.follow("c0", type="task.*", entity="task")
        assert await _seqs(stream, 2) == [1, 10]
        assert server.heard[1].target == "/events?since=c9&entity=task&type=task.%2A"


async def test_a_caller_may_give_up_waiting_and_come_back():
    served: list[Peer] = []
    answers = [
        says_and_waits(lambda: served[0].is_over, opening(), event(1), event(2)),
        says(opening("c2"), event(3)),
    ]
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        served.append(server)
        stream = coven.events.follow("c0")
        assert await _seqs(stream, 2) == [1, 2]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(stream)
        assert stream.cursor == "c2"
        assert await _seqs(stream, 1) == [3]


async def test_events_that_arrived_together_survive_a_caller_who_gave_up():
    async with (
        peer(says(opening(), event(1), event(2), event(3)), hangs_up) as server,
        Coven(url=server.url) as coven,
    ):
        stream = coven.events.follow("c0")
        assert await _seqs(stream, 1) == [1]
        assert stream.cursor == "c1"
        assert await _seqs(stream, 2) == [2, 3]


async def test_a_connection_without_heartbeats_is_given_up():
    served: list[Peer] = []
    answers = [
        says_and_waits(lambda: served[0].is_over, opening(), event(1)),
        says(opening("c1"), event(2)),
    ]
    told: list[tuple[bool, str | None]] = []
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        served.append(server)
        stream = coven.events.follow(
            "c0",
            heartbeat_seconds=0.05,
            on_connection=lambda change: told.append((change.is_connected, change.reason)),
        )
        assert await _seqs(stream, 2) == [1, 2]
    assert told == [(True, None), (False, "The daemon has gone silent."), (True, None)]


async def test_a_resync_is_told_and_the_numbers_may_begin_again():
    gone = frame("resync", "d5", {"cursor": "d5", "snapshot": "/state", "reason": "epoch"})
    answers = [says(opening("c7"), event(8)), says(gone, event(6))]
    async with peer(*answers) as server, Coven(url=server.url) as coven:
        stream = coven.events.follow("c7")
        async with asyncio.timeout(5):
            found = [await anext(stream) for _ in range(3)]
    assert isinstance(found[0], Event)
    assert found[1] == Resync(cursor="d5", snapshot="/state", reason="epoch")
    assert isinstance(found[2], Event)
    assert found[2].seq == 6


async def test_a_place_is_known_before_the_first_event():
    served: list[Peer] = []
    answer = says_and_waits(lambda: served[0].is_over, opening("c41"))
    async with peer(answer) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.events.follow() as stream:
            assert stream.cursor == "c41"
            assert stream.is_connected


async def test_a_refusal_is_not_tried_again():
    async with (
        peer(replies(403, refusal("FORBIDDEN"))) as server,
        Coven(url=server.url) as coven,
    ):
        with pytest.raises(AccessDenied) as refused:
            await anext(coven.events.follow())
        assert refused.value.code == "FORBIDDEN"
        assert len(server.heard) == 1


@pytest.mark.parametrize(
    "answer",
    [
        says(opening(), b"id: c1\nevent: task.created\ndata: not json\n\n"),
        says(opening(), frame("task.created", "c1", {"id": "c1"})),
        replies(200, {"items": []}),
    ],
    ids=["no JSON", "no event", "a page"],
)
async def test_something_else_than_a_daemon_is_said_to_be_that(answer: Answer):
    async with peer(answer) as server, Coven(url=server.url) as coven:
        with pytest.raises(UnreadableReply):
            await anext(coven.events.follow())


async def test_where_no_daemon_ever_was_the_stream_says_so_at_once(tmp_path):
    async with Coven(tmp_path) as coven:
        with pytest.raises(DaemonNotRunning):
            await anext(coven.events.follow())


async def test_a_closed_stream_ends():
    async with peer(says(opening(), event(1))) as server, Coven(url=server.url) as coven:
        stream = coven.events.follow("c0")
        await anext(stream)
        await stream.aclose()
        assert [happened async for happened in stream] == []


async def _posts(coven: Coven, count: int) -> AsyncIterator[str]:
    for number in range(count):
        yield (await coven.notifications.post("test", f"number {number}")).id


async def test_a_stream_of_a_real_daemon_tells_each_notification_once(client: Coven):
    async with client.events.follow(type="user.notification") as stream:
        posted = [notification_id async for notification_id in _posts(client, 20)]
        heard = [await asyncio.wait_for(anext(stream), 5) for _ in posted]
    assert [happened.entity_id for happened in heard if isinstance(happened, Event)] == posted


async def test_a_stream_without_a_place_begins_with_what_happens_next(client: Coven):
    await client.notifications.post("test", "before")
    async with client.events.follow() as stream:
        after = await client.notifications.post("test", "after")
        happened = await asyncio.wait_for(anext(stream), 5)
    assert isinstance(happened, Event)
    assert happened.entity_id == after.id


async def test_pages_and_streams_use_the_same_places(client: Coven):
    for number in range(7):
        await client.notifications.post("test", f"number {number}")
    everything = [event.seq async for event in client.events.list()]
    page = await client.events.page(limit=3)
    stream = client.events.follow(page.next_cursor)
    rest = await _seqs(stream, len(everything) - 3)
    assert [event.seq for event in page.items] + rest == everything
    await eventually(lambda: stream.is_connected)
    await stream.aclose()
