"""What holds for every route of a whole daemon, whatever it is about."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from coven.config import Settings
from coven.daemon import boot
from coven.daemon.daemon import Daemon

KEY = {"Idempotency-Key": "the-same-for-all"}
WHOLE_DAEMON = {
    ("get", "/metrics"),
    ("post", "/shutdown"),
    ("post", "/api/v1/loops/{name}/run"),
    ("post", "/api/v1/retention/run"),
    ("post", "/api/v1/store/check"),
    ("post", "/api/v1/store/backup"),
}
BODIES: dict[str, dict[str, str]] = {
    "/api/v1/notifications": {"kind": "x", "title": "t"},
    "/api/v1/tokens": {"name": "x", "scope": "read"},
}
OTHER_BODIES = {
    "/api/v1/notifications": {"kind": "x", "title": "other"},
    "/api/v1/tokens": {"name": "x", "scope": "work"},
    "/api/v1/store/backup": {"name": "other.db"},
}
LOOP = "expired_records"

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture
async def operations(http: httpx.AsyncClient) -> list[Operation]:
    document = (await http.get("/openapi.json")).json()
    return [
        (method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


@pytest.fixture
async def stranger(daemon: Daemon, http: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who may do everything in the project p2, and nothing beyond it."""
    draft = {"name": "of p2", "scope": "admin"}
    made = await http.post("/api/v1/tokens", json=draft, headers={"X-Coven-Project": "p2"})
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    async with httpx.AsyncClient(base_url=daemon.url, headers=headers) as client:
        yield client


async def mutations(http: httpx.AsyncClient, operations: list[Operation]) -> list[tuple[str, str]]:
    """Every route that changes something, with a path that leads to something."""
    posted = (await http.post("/api/v1/notifications", json=BODIES["/api/v1/notifications"])).json()
    token = (await http.post("/api/v1/tokens", json=BODIES["/api/v1/tokens"])).json()
    values = {"notification_id": posted["id"], "token_id": token["id"], "name": LOOP}
    return [
        (method.upper(), path.format_map(values))
        for method, path, _ in operations
        if method != "get"
    ]


async def test_every_mutation_is_done_once_for_its_key_and_another_request_is_refused(
    daemon: Daemon, http: httpx.AsyncClient, operations: list[Operation]
) -> None:
    walked = [one for one in await mutations(http, operations) if _can(daemon, one)]
    assert len(walked) >= 9
    for number, (method, path) in enumerate(walked):
        headers = {"Idempotency-Key": f"key-{number}"}
        first = await http.request(method, path, json=BODIES.get(path), headers=headers)
        again = await http.request(method, path, json=BODIES.get(path), headers=headers)
        assert first.is_success, (path, first.text)
        if path == "/api/v1/tokens":
            # Its reply holds a secret, which is not kept and so cannot be repeated.
            assert (again.status_code, code(again)) == (409, "TOKEN_ALREADY_SHOWN")
        else:
            assert again.headers.get("idempotency-replayed") == "true", path
            assert (again.status_code, again.content) == (first.status_code, first.content), path
        other_method, other_path = walked[number - 1]
        others = [(other_method, other_path, BODIES.get(other_path))]
        if path in OTHER_BODIES:
            others.append((method, path, OTHER_BODIES[path]))
        for other_method, other_path, body in others:
            reply = await http.request(other_method, other_path, json=body, headers=headers)
            assert (reply.status_code, code(reply)) == (422, "IDEMPOTENCY_MISMATCH"), path
    assert len((await http.get("/api/v1/notifications")).json()["items"]) == 2
    backups = list((daemon.settings.state_directory / "backups").glob("*.db"))
    assert len(backups) == (1 if daemon.store.engine == "sqlite" else 0)


async def test_a_shutdown_that_is_sent_again_does_not_end_the_next_daemon(
    settings: Settings,
) -> None:
    replies: list[httpx.Response] = []
    for is_first in (True, False):
        async with boot.running(settings) as daemon:
            headers = {"Authorization": f"Bearer {daemon.token}", **KEY}
            async with httpx.AsyncClient(base_url=daemon.url, headers=headers) as http:
                replies.append(await http.post("/shutdown"))
            assert replies[-1].status_code == 202, replies[-1].text
            assert daemon.stopping.is_set() == is_first
    first, again = replies
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.content) == (202, first.content)


async def test_what_concerns_the_whole_daemon_is_refused_to_a_token_of_one_project(
    daemon: Daemon, stranger: httpx.AsyncClient, operations: list[Operation]
) -> None:
    told = {
        (method, path)
        for method, path, operation in operations
        if operation.get("x-coven-whole-daemon")
    }
    assert told == WHOLE_DAEMON
    for method, path in told:
        reply = await stranger.request(method, path.format(name=LOOP), headers=KEY)
        assert (reply.status_code, code(reply)) == (403, "FOREIGN_PROJECT"), path
    assert not daemon.stopping.is_set()


async def test_what_concerns_one_project_is_open_to_its_token(
    stranger: httpx.AsyncClient, operations: list[Operation]
) -> None:
    for method, path, operation in operations:
        if method == "get" and "{" not in path and not operation.get("x-coven-whole-daemon"):
            assert (await stranger.get(path)).status_code == 200, path


async def test_a_plan_of_retention_shows_a_token_its_own_project_only(
    http: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    async def shown(by: httpx.AsyncClient) -> set[str]:
        rules = (await by.post("/api/v1/retention/plan")).json()["rules"]
        return {rule["project"] for rule in rules}

    assert await shown(http) == {"default", "p2"}
    assert await shown(stranger) == {"p2"}


@pytest.mark.parametrize("engine_name", ["sqlite"])
async def test_head_is_answered_like_get_without_the_body(
    http: httpx.AsyncClient, operations: list[Operation]
) -> None:
    paths = [path for method, path, _ in operations if method == "get" and "{" not in path]
    for path in ["/docs", "/openapi.json", *paths]:
        got, head = await http.get(path), await http.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == got.headers["content-type"]
        assert int(head.headers["content-length"]) > 0
        if path not in ("/health", "/metrics"):  # those differ from one moment to the next
            assert head.headers["content-length"] == got.headers["content-length"]
    missing = await http.head("/nope")
    assert (missing.status_code, missing.content) == (404, b"")


@pytest.mark.parametrize("engine_name", ["sqlite"])
async def test_every_summary_is_a_sentence_and_no_name_of_a_function(
    operations: list[Operation],
) -> None:
    for method, path, operation in operations:
        name = operation["operationId"].partition("_")[2].replace("_", " ")
        summary = operation["summary"]
        assert summary.lower() != name, (method, path)
        assert summary[0].isupper(), (method, path)
        assert not summary.endswith("."), (method, path)


@pytest.mark.parametrize("engine_name", ["sqlite"])
async def test_every_list_has_the_one_shape(
    http: httpx.AsyncClient, operations: list[Operation]
) -> None:
    lists = 0
    for method, path, _ in operations:
        if method == "get" and "{" not in path:
            reply = await http.get(path)
            if reply.headers["content-type"] == "application/json" and "items" in reply.json():
                lists += 1
                assert set(reply.json()) == {"items", "next_cursor", "has_more"}, path
    assert lists >= 4


def code(reply: httpx.Response) -> str:
    return reply.json()["error"]["code"]


def _can(daemon: Daemon, asked: tuple[str, str]) -> bool:
    """Whether the engine can do it: a shared store is copied with its own tools."""
    return daemon.store.engine == "sqlite" or asked[1] != "/api/v1/store/backup"
