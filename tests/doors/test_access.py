"""Who is let in, as whom, and how far."""

import asyncio

import httpx
import pytest

from coven.core import ids
from coven.core.clock import SystemClock
from coven.doors import tokens
from coven.doors.access import OWNER, Access, TokenUnknown
from coven.doors.http import Doors
from coven.doors.model import Scope
from coven.store import Store, events
from tests.doors.conftest import OWNER_TOKEN, through_port

# For what ends before the store, or is the same whatever the store is.
ONE_ENGINE = pytest.mark.parametrize("engine_name", ["sqlite"])

URL = "/api/v1/notifications"
TOKENS = "/api/v1/tokens"
DRAFT = {"kind": "x", "title": "t"}


async def made(door: httpx.AsyncClient, scope: str = "work", **headers: str) -> dict[str, str]:
    reply = await door.post(TOKENS, json={"name": f"a {scope}", "scope": scope}, headers=headers)
    assert reply.status_code == 201
    return reply.json()


async def test_the_owners_token_and_the_socket_may_do_everything(
    door: httpx.AsyncClient, socket_door: httpx.AsyncClient
) -> None:
    for way in (door, socket_door):
        assert (await way.post(URL, json=DRAFT)).status_code == 201
        assert (await way.get(TOKENS)).status_code == 200


@ONE_ENGINE
async def test_the_port_without_a_token_is_401_and_says_how_to_come_in(doors: Doors) -> None:
    async with through_port(doors, None) as stranger:
        reply = await stranger.get(URL)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert reply.json()["error"]["code"] == "TOKEN_MISSING"
    assert ".coven/token" in reply.json()["error"]["remedy"]


@ONE_ENGINE
@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer wrong",
        f"Bearer {OWNER_TOKEN}x",
        f"Bearer {OWNER_TOKEN[:-1]}",
        "Bearer",
        "Bearer ",
        "",
        OWNER_TOKEN,
        f"Basic {OWNER_TOKEN}",
        f"Bearer {OWNER_TOKEN} {OWNER_TOKEN}",
        "Bearer " + "x" * 600,
        "Bearer \xff",
    ],
)
async def test_a_token_that_is_not_ours_is_401_also_on_the_socket(
    doors: Doors, socket_door: httpx.AsyncClient, authorization: str
) -> None:
    headers = {"Authorization": authorization.encode("latin-1")}
    async with through_port(doors, None) as port:
        replies = [await way.get(URL, headers=headers) for way in (port, socket_door)]
    for reply in replies:
        assert reply.status_code == 401
        assert reply.json()["error"]["code"] == "TOKEN_UNKNOWN"
        assert "www-authenticate" in reply.headers


@pytest.mark.parametrize(
    ("scope", "get", "post", "administer"),
    [("read", 200, 403, 403), ("work", 200, 201, 403), ("admin", 200, 201, 200)],
)
async def test_a_token_may_do_what_its_scope_says_and_no_more(
    doors: Doors,
    door: httpx.AsyncClient,
    socket_door: httpx.AsyncClient,
    scope: str,
    get: int,
    post: int,
    administer: int,
) -> None:
    token = (await made(door, scope))["token"]
    narrowed = {"Authorization": f"Bearer {token}"}
    async with through_port(doors, None) as port:
        for way in (port, socket_door):
            assert (await way.get(URL, headers=narrowed)).status_code == get
            assert (await way.post(URL, json=DRAFT, headers=narrowed)).status_code == post
            reply = await way.get(TOKENS, headers=narrowed)
            assert reply.status_code == administer
            if administer == 403:
                assert reply.json()["error"]["code"] == "SCOPE_TOO_NARROW"


async def test_a_token_is_shown_once_and_never_kept_or_told(
    door: httpx.AsyncClient, store: Store
) -> None:
    created = await made(door)
    assert created["token"].startswith("coven_")
    listed = (await door.get(TOKENS)).text
    page = await store.read(events.page, None, limit=10)
    assert [one.type for one in page.items] == ["token.created"]
    for text in (listed, *(one.data for one in page.items)):
        assert created["token"] not in text
        assert tokens.digest(created["token"]) not in text


async def test_a_revoked_token_is_refused_from_the_reply_on(
    doors: Doors, door: httpx.AsyncClient, store: Store
) -> None:
    created = await made(door)
    async with through_port(doors, created["token"]) as holder:
        assert (await holder.get(URL)).status_code == 200
        first = await door.delete(f"{TOKENS}/{created['id']}")
        again = await door.delete(f"{TOKENS}/{created['id']}")
        assert (await holder.get(URL)).status_code == 401
    assert first.status_code == again.status_code == 200
    assert first.json()["revoked_at"] is not None
    assert again.json() == first.json()
    page = await store.read(events.page, None, limit=10)
    assert [one.type for one in page.items] == ["token.created", "token.revoked"]


async def test_a_look_that_began_before_a_revoke_does_not_bring_the_token_back(
    access: Access, door: httpx.AsyncClient
) -> None:
    created = await made(door)
    authorization = f"Bearer {created['token']}".encode()
    looking = asyncio.ensure_future(access.look_up(authorization))
    await door.delete(f"{TOKENS}/{created['id']}")
    await asyncio.gather(looking, return_exceptions=True)
    assert access.recognise(authorization, over_socket=False) is None
    with pytest.raises(TokenUnknown):
        await access.look_up(authorization)


@ONE_ENGINE
async def test_another_daemon_on_the_store_refuses_a_revoked_token_soon(
    store: Store, door: httpx.AsyncClient, access: Access
) -> None:
    created = await made(door)
    ticking = _Ticking()
    other = Access(store, ticking, owner_hash=None)
    authorization = f"Bearer {created['token']}".encode()
    assert (await other.look_up(authorization)).name == "a work"
    await door.delete(f"{TOKENS}/{created['id']}")
    assert other.recognise(authorization, over_socket=False) is not None
    ticking.seconds += 3
    assert other.recognise(authorization, over_socket=False) is None


class _Ticking(SystemClock):
    """A clock whose seconds pass when the test says so."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


async def test_a_token_that_is_not_there_cannot_be_revoked(door: httpx.AsyncClient) -> None:
    reply = await door.delete(f"{TOKENS}/{ids.new()}")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "TOKEN_NOT_FOUND"


async def test_tokens_are_listed_newest_first_in_pages(door: httpx.AsyncClient) -> None:
    made_ids = [(await made(door))["id"] for _ in range(3)]
    page = (await door.get(TOKENS, params={"limit": 2})).json()
    rest = (await door.get(TOKENS, params={"cursor": page["next_cursor"]})).json()
    listed = [item["id"] for item in page["items"] + rest["items"]]
    assert listed == made_ids[::-1]


async def test_a_token_acts_in_its_own_project_only(doors: Doors, door: httpx.AsyncClient) -> None:
    created = await made(door, "work", **{"X-Coven-Project": "p2"})
    async with through_port(doors, created["token"]) as holder:
        posted = (await holder.post(URL, json=DRAFT)).json()
        named = await holder.get(URL, headers={"X-Coven-Project": "p2"})
        foreign = await holder.get(URL, headers={"X-Coven-Project": "default"})
    assert [item["id"] for item in named.json()["items"]] == [posted["id"]]
    assert foreign.status_code == 403
    assert foreign.json()["error"]["code"] == "FOREIGN_PROJECT"
    assert (await door.get(URL)).json()["items"] == []
    owner = await door.get(URL, headers={"X-Coven-Project": "p2"})
    assert len(owner.json()["items"]) == 1


@ONE_ENGINE
@pytest.mark.parametrize("project", ["", "a/b", "-x", "x" * 64, "ä", "a b"])
async def test_a_project_that_cannot_be_one_is_400(door: httpx.AsyncClient, project: str) -> None:
    reply = await door.get(URL, headers={"X-Coven-Project": project.encode("latin-1")})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "MALFORMED_PROJECT"


@ONE_ENGINE
@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "scope": "read"},
        {"name": "x" * 65, "scope": "read"},
        {"name": "a\nb", "scope": "read"},
        {"name": "x", "scope": "root"},
        {"name": "x", "scope": 1},
        {"name": "x"},
        {"name": "x", "scope": "read", "token": "mine"},
    ],
)
async def test_a_token_that_means_nothing_is_422(
    door: httpx.AsyncClient, body: dict[str, object]
) -> None:
    assert (await door.post(TOKENS, json=body)).status_code == 422


def test_scopes_contain_each_other_in_order() -> None:
    assert Scope.READ < Scope.WORK < Scope.ADMIN
    assert max(Scope) is Scope.ADMIN
    assert OWNER.scope is Scope.ADMIN
