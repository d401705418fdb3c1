"""The mirror: at any moment what one read transaction answered, however the events came."""

import asyncio
from typing import Any

import pytest

from coven.client import AccessDenied, Coven, Mirror, State
from tests.client.peer import (
    Answer,
    Heard,
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


def _state(seq: int, *titles: str) -> dict[str, Any]:
    return {
        "tasks": [{"title": title} for title in titles],
        "agents": [],
        "workflows": [],
        "questions": [],
        "seq": seq,
        "cursor": f"c{seq}",
        "timestamp": "2030-01-31T12:00:00.000000Z",
    }


def _daemon(states: list[Answer], streams: list[Answer]) -> Answer:
    """Answers to /state and to /events, each in its own order; the last ones are repeated."""

    async def answer(heard: Heard, writer: asyncio.StreamWriter) -> None:
        mine = states if heard.target == "/state" else streams
        await (mine.pop(0) if len(mine) > 1 else mine[0])(heard, writer)

    return answer


def _titles(state: State) -> list[str]:
    return [task["title"] for task in state.tasks]


async def _reached(mirror: Mirror, seq: int) -> State:
    return await asyncio.wait_for(mirror.reached(seq), 5)


async def test_the_stream_begins_exactly_where_the_snapshot_ends():
    served: list[Peer] = []
    states = [replies(200, _state(5, "a")), replies(200, _state(6, "a", "b"))]
    streams = [says_and_waits(lambda: served[0].is_over, opening("c5"), event(6))]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            assert _titles(mirror.state) == ["a"]
            assert _titles(await _reached(mirror, 6)) == ["a", "b"]
    targets = [heard.target for heard in server.heard]
    assert targets == ["/state", "/events?since=c5", "/state"]


async def test_a_burst_of_events_costs_one_load_and_none_is_applied_twice():
    served: list[Peer] = []
    states = [replies(200, _state(0)), replies(200, _state(4, "all"))]
    burst = [event(seq) for seq in (1, 2, 3, 4)]
    streams = [says_and_waits(lambda: served[0].is_over, opening("c0"), *burst)]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            assert _titles(await _reached(mirror, 4)) == ["all"]
    assert [heard.target for heard in server.heard].count("/state") == 2


async def test_an_event_about_something_else_only_moves_the_place():
    served: list[Peer] = []
    other = event(8, type="notification.read", entity="notification")
    streams = [says_and_waits(lambda: served[0].is_over, opening("c7"), other)]
    states = [replies(200, _state(7, "a"))]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            state = await _reached(mirror, 8)
    assert (state.seq, state.cursor, _titles(state)) == (8, "c8", ["a"])
    assert [heard.target for heard in server.heard].count("/state") == 1


async def test_a_resync_loads_the_state_again():
    served: list[Peer] = []
    gone = frame("resync", "d9", {"cursor": "d9", "snapshot": "/state", "reason": "epoch"})
    states = [replies(200, _state(100, "old")), replies(200, _state(9, "new"))]
    streams = [
        says(opening("c100")),
        says_and_waits(lambda: served[0].is_over, gone),
    ]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            await eventually(lambda: _titles(mirror.state) == ["new"])
            assert mirror.state.seq == 9


async def test_a_daemon_that_is_away_while_the_state_is_loaded_is_waited_for():
    served: list[Peer] = []
    states = [
        replies(200, _state(0)),
        replies(503, refusal("STARTING")),
        hangs_up,
        replies(200, _state(1, "a")),
    ]
    streams = [says_and_waits(lambda: served[0].is_over, opening("c0"), event(1))]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            assert _titles(await _reached(mirror, 1)) == ["a"]


async def test_whoever_waits_for_changes_learns_that_none_will_come():
    streams = [says(opening("c0")), replies(401, refusal("UNKNOWN_TOKEN"))]
    states = [replies(200, _state(0))]
    async with (
        peer(_daemon(states, streams)) as server,
        Coven(url=server.url) as coven,
        coven.mirror() as mirror,
    ):
        with pytest.raises(AccessDenied):
            await _reached(mirror, 1)


async def test_changes_give_the_newest_state_and_never_a_backlog():
    served: list[Peer] = []
    notifications = [
        event(seq, type="user.notification", entity="notification") for seq in range(1, 6)
    ]
    streams = [says_and_waits(lambda: served[0].is_over, opening("c0"), *notifications)]
    states = [replies(200, _state(0))]
    async with peer(_daemon(states, streams)) as server, Coven(url=server.url) as coven:
        served.append(server)
        async with coven.mirror() as mirror:
            await _reached(mirror, 5)
            changes = mirror.changes()
            assert (await anext(changes)).seq == 5
            await changes.aclose()


async def test_a_mirror_of_a_real_daemon_keeps_up_with_it(client: Coven):
    async with client.mirror() as mirror:
        for number in range(5):
            await client.notifications.post("test", f"number {number}")
        now = await client.state()
        assert (await _reached(mirror, now.seq)).cursor == now.cursor
