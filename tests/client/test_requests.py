"""Requests: what is tried again, what is not, and how refusals look."""

import json

import pytest

from coven.client import (
    BadRequest,
    Busy,
    Conflict,
    ConnectionLost,
    Coven,
    CovenApiError,
    DaemonNotRunning,
    MalformedName,
    NotFound,
    UnreadableReply,
)
from coven.core.errors import Kind
from tests.client.peer import hangs_up, peer, refusal, replies

NOTIFICATION = {
    "id": "0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e",
    "kind": "build",
    "title": "Green",
    "body": None,
    "subject": None,
    "created_at": "2030-01-31T12:00:00.000000Z",
    "read_at": None,
    "from_a_newer_daemon": True,
}


async def test_a_change_whose_reply_was_lost_is_sent_again_with_the_same_key():
    async with (
        peer(hangs_up, hangs_up, replies(201, NOTIFICATION)) as server,
        Coven(url=server.url) as coven,
    ):
        posted = await coven.notifications.post("build", "Green")
        keys = {heard.headers["idempotency-key"] for heard in server.heard}
        bodies = [heard.body for heard in server.heard]
    assert posted.title == "Green"
    assert len(keys) == 1
    assert bodies == [{"kind": "build", "title": "Green"}] * 3


async def test_two_changes_never_share_a_key():
    async with peer(replies(201, NOTIFICATION)) as server, Coven(url=server.url) as coven:
        await coven.notifications.post("build", "Green")
        await coven.notifications.post("build", "Green")
        await coven.notifications.post("build", "Green", idempotency_key="mine")
        keys = [heard.headers["idempotency-key"] for heard in server.heard]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


async def test_a_question_is_asked_again_and_carries_no_key():
    async with (
        peer(hangs_up, replies(200, NOTIFICATION)) as server,
        Coven(url=server.url) as coven,
    ):
        await coven.notifications.get(NOTIFICATION["id"])
        assert len(server.heard) == 2
        assert "idempotency-key" not in server.heard[0].headers


async def test_a_shutdown_is_never_sent_twice():
    async with peer(hangs_up) as server, Coven(url=server.url) as coven:
        with pytest.raises(ConnectionLost):
            await coven.shutdown()
        assert len(server.heard) == 1


async def test_trying_again_ends_when_the_patience_does():
    async with peer(hangs_up) as server, Coven(url=server.url, patience_seconds=0.2) as coven:
        with pytest.raises(ConnectionLost) as lost:
            await coven.health()
        assert len(server.heard) >= 2
    assert lost.value.details == {"method": "GET", "path": "/health"}


async def test_a_busy_daemon_is_asked_again_when_it_says_so():
    async with (
        peer(
            replies(503, refusal("STORE_BUSY"), Retry_After="0"), replies(201, NOTIFICATION)
        ) as server,
        Coven(url=server.url) as coven,
    ):
        await coven.notifications.post("build", "Green")
        assert len(server.heard) == 2


async def test_a_limit_is_told_and_not_tried_against():
    async with (
        peer(replies(429, refusal("TOO_MANY"), Retry_After="1")) as server,
        Coven(url=server.url) as coven,
    ):
        with pytest.raises(Busy):
            await coven.health()
        assert len(server.heard) == 1


@pytest.mark.parametrize(
    ("status", "family", "kind"),
    [
        (400, BadRequest, Kind.MALFORMED),
        (404, NotFound, Kind.MISSING),
        (409, Conflict, Kind.CONFLICT),
        (422, BadRequest, Kind.INVALID),
        (500, CovenApiError, Kind.BUG),
    ],
)
async def test_a_refusal_carries_what_the_daemon_said(status, family, kind):
    body = refusal("SOME_CODE", "Not like this.", holder="somebody")
    async with peer(replies(status, body)) as server, Coven(url=server.url) as coven:
        with pytest.raises(family) as refused:
            await coven.state()
    error = refused.value
    assert (error.status, error.kind, error.code) == (status, kind, "SOME_CODE")
    assert str(error) == error.message == "Not like this."
    assert error.details == {"holder": "somebody"}
    assert error.remedy == "Ask nicely."


@pytest.mark.parametrize(
    "answer",
    [
        replies(200, ["not", "an", "object"]),
        replies(200, {"id": 7}),
        replies(404, "no shape"),
        replies(200, {**NOTIFICATION, "created_at": "yesterday"}),
    ],
    ids=["a list", "no fields", "no error", "no time"],
)
async def test_a_reply_that_is_none_of_ours_is_said_to_be_that(answer):
    async with peer(answer) as server, Coven(url=server.url) as coven:
        with pytest.raises(UnreadableReply):
            await coven.notifications.get("0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e")


@pytest.mark.parametrize("text", ["", ".", "..", "0191e2a4/read", "../../../shutdown", "/"])
async def test_an_id_that_could_name_another_route_is_never_sent(text):
    async with (
        peer(replies(200, NOTIFICATION)) as server,
        Coven(url=server.url) as coven,
    ):
        for ask in (coven.notifications.get, coven.tokens.revoke, coven.loops.run):
            with pytest.raises(MalformedName):
                await ask(text)
        assert server.heard == []


async def test_an_id_is_one_segment_whatever_stands_in_it():
    async with (
        peer(replies(404, refusal("NOTIFICATION_NOT_FOUND"))) as server,
        Coven(url=server.url) as coven,
    ):
        with pytest.raises(NotFound):
            await coven.notifications.get("a%2Fb?x=1#y")
        assert server.heard[0].target == "/api/v1/notifications/a%252Fb%3Fx%3D1%23y"


async def test_a_token_goes_with_every_request_and_is_never_shown():
    async with peer(replies(201, NOTIFICATION)) as server:
        coven = Coven(url=server.url, token="s3cret")
        async with coven:
            await coven.notifications.post("build", "Green")
        assert server.heard[0].headers["authorization"] == "Bearer s3cret"
        assert "s3cret" not in repr(coven.address())


async def test_where_nobody_listens_the_answer_is_immediate_and_says_what_to_do(tmp_path):
    state = tmp_path / ".coven"
    state.mkdir()
    left_behind = {"pid": 1, "url": "http://127.0.0.1:1", "socket": str(state / "covend.sock")}
    (state / "covend.json").write_text(json.dumps(left_behind))
    async with Coven(tmp_path) as coven:
        with pytest.raises(DaemonNotRunning) as refused:
            await coven.notifications.post("build", "Green")
    assert refused.value.message == f"No daemon is running in {tmp_path}."
    assert "coven up" in refused.value.remedy
