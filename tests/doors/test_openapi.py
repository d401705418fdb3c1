"""The OpenAPI document is whole, true, and shown by a page that needs nobody else."""

import re
from typing import Any

import pytest

from coven.doors.http import Doors
from tests.doors.conftest import through_port


@pytest.fixture
def engine_name() -> str:
    """The document does not know the engine."""
    return "sqlite"


@pytest.fixture
async def document(doors: Doors) -> dict[str, Any]:
    async with through_port(doors, None) as anybody:
        reply = await anybody.get("/openapi.json")
    assert reply.status_code == 200
    return reply.json()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


async def test_it_is_openapi_31_and_names_every_route(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert {(method, path) for path, method, _ in operations(document)} == {
        ("get", "/api/v1/notifications"),
        ("post", "/api/v1/notifications"),
        ("get", "/api/v1/notifications/{notification_id}"),
        ("post", "/api/v1/notifications/{notification_id}/read"),
        ("get", "/api/v1/tokens"),
        ("post", "/api/v1/tokens"),
        ("delete", "/api/v1/tokens/{token_id}"),
    }


async def test_operation_ids_are_the_rooms_word_and_the_verb(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    assert "notifications_post" in ids
    assert "tokens_revoke" in ids


async def test_summaries_are_the_first_sentence_and_descriptions_what_follows_it(
    document: dict[str, Any],
) -> None:
    told = {(method, path): operation for path, method, operation in operations(document)}
    assert told["get", "/api/v1/notifications"]["summary"] == "List notifications, newest first"
    assert "description" not in told["get", "/api/v1/notifications"]
    create = told["post", "/api/v1/tokens"]
    assert create["summary"] == "Create a token"
    assert create["description"] == "Its secret is shown in this reply and never again."


async def test_every_operation_documents_who_may_call_and_how_it_refuses(
    document: dict[str, Any],
) -> None:
    for path, method, operation in operations(document):
        parameters = {one["name"] for one in operation["parameters"]}
        assert operation["security"] == [{"token": []}]
        assert operation["x-coven-scope"] in ("read", "work", "admin")
        assert "X-Coven-Project" in parameters
        assert ("Idempotency-Key" in parameters) == (method != "get")
        needed = {"400", "401", "403", "500", "503", "default"}
        if "{" in path:
            needed.add("404")
        if "requestBody" in operation:
            needed |= {"413", "415", "422"}
        assert needed <= operation["responses"].keys()
        for status, reply in operation["responses"].items():
            if not status.startswith("2"):
                schema = shape(document, reply)["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Error"}


async def test_no_reference_dangles(document: dict[str, Any]) -> None:
    left: list[Any] = [document]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                assert shape(document, part) is not None
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)


async def test_the_page_runs_its_own_script_and_nothing_from_elsewhere(doors: Doors) -> None:
    async with through_port(doors, None) as anybody:
        reply = await anybody.get("/docs")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}';", policy)
    assert "unsafe" not in policy
    assert "//" not in re.sub(r"^\s*//.*$", "", reply.text, flags=re.M)


async def test_the_document_and_the_page_are_open_and_take_only_get(doors: Doors) -> None:
    async with through_port(doors, None) as anybody:
        for path in ("/docs", "/openapi.json"):
            assert (await anybody.post(path)).status_code == 405


def shape(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        found: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


async def test_every_text_of_the_document_forbids_what_the_doors_refuse(
    document: dict[str, Any],
) -> None:
    draft = document["components"]["schemas"]["NotificationDraft"]["properties"]
    assert draft["subject"]["anyOf"][0]["pattern"] == r"^[^\u0000]*$"
    assert draft["title"]["allOf"] == [{"pattern": r"^[^\u0000]*$"}]
