"""Routes whose use case does not claim the key: the door does it before they act."""

import asyncio

import httpx
import pytest
from prometheus_client.registry import CollectorRegistry

from coven.core.errors import CovenError, Kind
from coven.doors import callers, http
from coven.doors.access import Access
from coven.doors.http import Doors
from coven.doors.shapes import Input, Output
from coven.store import Store, Transaction
from coven.store.statements import parse
from tests.eventually import eventually

KEY = {"Idempotency-Key": "key-1"}


class Wish(Input):
    text: str


class Done(Output):
    number: int


class NotNow(CovenError):
    """Not now."""

    code = "TEST_NOT_NOW"
    kind = Kind.CONFLICT


class Work:
    """Something slow that is done when the test says so, and counts how often and how many."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.begun = 0
        self.at_once = 0
        self.most_at_once = 0
        self.refusals = 0

    async def do(self) -> int:
        self.begun += 1
        number = self.begun
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.go.wait()
            if self.refusals:
                self.refusals -= 1
                raise NotNow()
        finally:
            self.at_once -= 1
        return number


@pytest.fixture
async def work() -> Work:
    return Work()


@pytest.fixture
def doors(work: Work, store: Store, access: Access, registry: CollectorRegistry) -> Doors:
    router = http.router(tag="test", claims_keys=False)

    @router.post("/work")
    async def do_work(caller: callers.Working, wish: Wish) -> Done:
        return Done(number=await work.do())

    @router.post("/other")
    async def do_other(caller: callers.Working) -> Done:
        return Done(number=await work.do())

    return http.build(
        [router], title="T", version="1", store=store, access=access, registry=registry
    )


def ask(door: httpx.AsyncClient, text: str = "a") -> "asyncio.Task[httpx.Response]":
    return asyncio.create_task(door.post("/work", json={"text": text}, headers=KEY))


async def test_the_same_request_again_is_not_done_again(
    door: httpx.AsyncClient, work: Work
) -> None:
    first, again = await ask(door), await ask(door)
    assert first.json() == {"number": 1}
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert work.begun == 1


async def test_another_request_with_the_key_is_refused_and_not_done(
    door: httpx.AsyncClient, work: Work
) -> None:
    await ask(door)
    for reply in (await ask(door, "b"), await door.post("/other", headers=KEY)):
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "IDEMPOTENCY_MISMATCH")
    assert work.begun == 1


async def test_repetitions_at_the_same_time_wait_for_the_first_and_get_its_reply(
    door: httpx.AsyncClient, work: Work
) -> None:
    work.go.clear()
    asked = [ask(door) for _ in range(6)]
    await eventually(lambda: work.begun == 1)
    # Another request need not wait to hear that the key is taken.
    other = await door.post("/other", headers=KEY)
    assert other.status_code == 422
    work.go.set()
    replies = await asyncio.gather(*asked)
    assert [reply.json() for reply in replies] == [{"number": 1}] * 6
    assert sorted("idempotency-replayed" in reply.headers for reply in replies) == [
        False,
        *[True] * 5,
    ]
    assert (work.begun, work.most_at_once) == (1, 1)


async def test_a_refusal_frees_the_key_for_who_waits_and_for_other_requests(
    door: httpx.AsyncClient, work: Work
) -> None:
    work.go.clear()
    work.refusals = 2
    asked = [ask(door) for _ in range(2)]
    await eventually(lambda: work.begun == 1)
    work.go.set()
    replies = await asyncio.gather(*asked)
    assert [reply.status_code for reply in replies] == [409, 409]
    assert (work.begun, work.most_at_once) == (2, 1)
    other = await door.post("/other", headers=KEY)
    assert other.json() == {"number": 3}


async def test_a_retry_after_a_crash_before_the_reply_does_it_again(
    door: httpx.AsyncClient, work: Work, store: Store
) -> None:
    await ask(door)
    # What a crash between the work and the reply leaves behind: a claim without its reply.
    await store.write(_forget_reply)
    other = await door.post("/other", headers=KEY)
    again = await ask(door)
    third = await ask(door)
    assert other.status_code == 422
    assert again.json() == third.json() == {"number": 2}
    assert "idempotency-replayed" not in again.headers
    assert third.headers["idempotency-replayed"] == "true"


async def test_without_a_key_every_request_is_done(door: httpx.AsyncClient, work: Work) -> None:
    for number in (1, 2):
        assert (await door.post("/other")).json() == {"number": number}


_FORGET = parse(
    "-- name: forget\n-- Forget every reply.\nUPDATE kb.idempotency_keys SET status = NULL;",
    source="test",
)


def _forget_reply(tx: Transaction) -> None:
    assert tx.run(_FORGET["forget"]) == 1
