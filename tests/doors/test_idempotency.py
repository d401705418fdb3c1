"""A request that is sent again joins the first one."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from coven.core import ids
from coven.core.clock import SystemClock
from coven.doors.http import Doors
from coven.store import Store, Transaction, events, idempotency
from coven.store.idempotency import IdempotencyKey
from coven.store.statements import parse
from tests.doors.conftest import through_port

URL = "/api/v1/notifications"
TOKENS = "/api/v1/tokens"
DRAFT = {"kind": "x", "title": "t"}
KEY = {"Idempotency-Key": "key-1"}


async def test_a_repeated_request_gets_the_first_reply_word_for_word(
    door: httpx.AsyncClient,
) -> None:
    first = await door.post(URL, json=DRAFT, headers=KEY)
    spaced = b'{ "title":"t",\n "kind":"x" }'
    again = await door.post(
        URL, content=spaced, headers={**KEY, "Content-Type": "application/json"}
    )
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.content) == (201, first.content)
    assert len((await door.get(URL)).json()["items"]) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [(URL, {"kind": "x", "title": "other"}), (TOKENS, {"name": "x", "scope": "read"})],
)
async def test_a_key_that_comes_with_another_request_is_422_and_does_nothing(
    door: httpx.AsyncClient, path: str, body: dict[str, str]
) -> None:
    await door.post(URL, json=DRAFT, headers=KEY)
    reply = await door.post(path, json=body, headers=KEY)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "IDEMPOTENCY_MISMATCH"
    assert (await door.get(TOKENS)).json()["items"] == []
    assert len((await door.get(URL)).json()["items"]) == 1


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("key", [b"", b"a b", b"x" * 201, b"\xff", b"a\tb"])
async def test_a_key_that_is_none_is_400(door: httpx.AsyncClient, key: bytes) -> None:
    reply = await door.post(URL, json=DRAFT, headers={"Idempotency-Key": key})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "MALFORMED_IDEMPOTENCY_KEY"


async def test_a_retry_after_a_crash_before_the_reply_joins_what_was_made(
    door: httpx.AsyncClient, store: Store
) -> None:
    first = (await door.post(URL, json=DRAFT, headers=KEY)).json()
    # What a crash between the commit and the reply leaves behind: a claim without its reply.
    await store.write(_forget_reply)
    again = await door.post(URL, json=DRAFT, headers=KEY)
    assert again.status_code == 201
    assert again.json() == first
    assert "idempotency-replayed" not in again.headers


_FORGET = parse(
    "-- name: forget\n-- Forget every reply.\nUPDATE kb.idempotency_keys SET status = NULL;",
    source="test",
)


def _forget_reply(tx: Transaction) -> None:
    assert tx.run(_FORGET["forget"]) == 1


async def test_a_refused_request_leaves_its_key_free(door: httpx.AsyncClient) -> None:
    missing = f"{URL}/0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e/read"
    for _ in range(2):
        reply = await door.post(missing, headers=KEY)
        assert reply.status_code == 404
        assert "idempotency-replayed" not in reply.headers
    assert (await door.post(URL, json=DRAFT, headers=KEY)).status_code == 201


async def test_keys_of_two_callers_and_of_two_projects_are_two_keys(
    doors: Doors, door: httpx.AsyncClient
) -> None:
    created = (await door.post(TOKENS, json={"name": "a", "scope": "work"})).json()
    async with through_port(doors, created["token"]) as other:
        replies = [
            await door.post(URL, json=DRAFT, headers=KEY),
            await other.post(URL, json=DRAFT, headers=KEY),
            await door.post(URL, json=DRAFT, headers={**KEY, "X-Coven-Project": "p2"}),
        ]
    assert len({reply.json()["id"] for reply in replies}) == 3


async def test_the_socket_and_the_owners_token_are_the_same_caller(
    door: httpx.AsyncClient, socket_door: httpx.AsyncClient
) -> None:
    first = await door.post(URL, json=DRAFT, headers=KEY)
    again = await socket_door.post(URL, json=DRAFT, headers=KEY)
    assert again.content == first.content


async def test_a_token_is_not_shown_again_for_its_key(
    door: httpx.AsyncClient, store: Store
) -> None:
    body = {"name": "ci", "scope": "work"}
    first = await door.post(TOKENS, json=body, headers=KEY)
    again = await door.post(TOKENS, json=body, headers=KEY)
    assert again.status_code == 409
    assert again.json()["error"]["code"] == "TOKEN_ALREADY_SHOWN"
    assert again.json()["error"]["details"] == {"token_id": first.json()["id"]}
    key = IdempotencyKey(principal="owner", key="key-1", request_hash="")
    with pytest.raises(idempotency.IdempotencyMismatch):
        await store.read(idempotency.recall, key)


async def test_many_repetitions_at_once_end_with_one_thing(
    door: httpx.AsyncClient, store: Store
) -> None:
    replies = await asyncio.gather(*(door.post(URL, json=DRAFT, headers=KEY) for _ in range(9)))
    assert {reply.status_code for reply in replies} == {201}
    made = {reply.json()["id"] for reply in replies}
    listed = (await door.get(URL)).json()["items"]
    assert len(listed) == 1
    assert made == {listed[0]["id"]}
    assert await told(store) == ["user.notification"]


async def test_many_requests_at_once_with_one_key_are_the_first_of_them_or_refused(
    door: httpx.AsyncClient, store: Store
) -> None:
    posted = (await door.post(URL, json=DRAFT)).json()["id"]
    replies = await asyncio.gather(
        *(door.post(f"{URL}/{posted}/read", headers=KEY) for _ in range(6)),
        *(door.delete(f"{TOKENS}/{posted}", headers=KEY) for _ in range(3)),
    )
    # No such token: that is refused, and what is refused takes no key from the others.
    assert {reply.status_code for reply in replies[:6]} == {200}
    assert len({reply.json()["read_at"] for reply in replies[:6]}) == 1
    assert {reply.status_code for reply in replies[6:]} <= {404, 422}
    assert await told(store) == ["user.notification", "notification.read"]


async def test_keys_are_forgotten_batch_by_batch_until_none_is_left(
    store: Store, clock: SystemClock
) -> None:
    count = idempotency.BATCH + 3
    await store.write(_claim_many, count)
    other = store.of(ids.project("p2"))
    await other.write(_claim_many, 1)
    later = clock.now() + timedelta(hours=1)
    assert await store.read(idempotency.retirable, later) == count
    assert await store.write(idempotency.retire, later) == idempotency.BATCH
    assert await store.write(idempotency.retire, later) == 3
    assert await store.write(idempotency.retire, later) == 0
    assert await other.read(idempotency.retirable, later) == 1


def _claim_many(tx: Transaction, count: int) -> None:
    for number in range(count):
        key = IdempotencyKey(principal="owner", key=f"key-{number}", request_hash="h")
        idempotency.claim(tx, key, makes="x")


async def told(store: Store) -> list[str]:
    """The types of the events, in their order."""
    return [one.type for one in (await store.read(events.page, None, limit=100)).items]
