"""Bodies and parameters that are malformed, or mean nothing, or cannot be stored."""

import json

import httpx
import pytest

KNOWN = "01a1f5a0-9d65-7694-a776-d0763564b4ae"
URL = "/api/v1/notifications"
JSON = {"Content-Type": "application/json"}
GOOD = b'{"kind": "x", "title": "t"}'


@pytest.fixture
def engine_name() -> str:
    """What is refused here is refused before the store."""
    return "sqlite"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"kind": "x", "title": "t"',
        b"{'kind': 'x'}",
        b'{"kind": "x", "title": "t"} trailing',
        b'{"kind": "x", "title": "\xff"}',
        b'{"kind": "x", "title": "\x00"}',
        b"\xef\xbb\xbf" + GOOD,
        GOOD.decode().encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
async def test_what_is_not_json_is_400(door: httpx.AsyncClient, body: bytes) -> None:
    reply = await door.post(URL, content=body, headers=JSON)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "MALFORMED_BODY"


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"7", b"true"])
async def test_json_that_is_not_an_object_is_422(door: httpx.AsyncClient, body: bytes) -> None:
    reply = await door.post(URL, content=body, headers=JSON)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "INVALID_BODY"


async def test_every_field_that_is_wrong_is_named_and_no_value_is_repeated(
    door: httpx.AsyncClient,
) -> None:
    body = {"kind": 7, "title": "hunter2" * 40, "secret": "hunter2"}
    reply = await door.post(URL, json=body)
    assert reply.status_code == 422
    fields = {one["field"] for one in reply.json()["error"]["details"]["fields"]}
    assert fields == {"kind", "title", "secret"}
    assert "hunter2" not in reply.text


async def test_a_field_that_is_missing_is_named(door: httpx.AsyncClient) -> None:
    reply = await door.post(URL, json={"kind": "x"})
    assert reply.status_code == 422
    assert [one["field"] for one in reply.json()["error"]["details"]["fields"]] == ["title"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (r"\u0000", "NUL"),
        (r"a\u0000b", "NUL"),
        (r"\ud800", "half of a surrogate pair"),
        (r"\udc00x", "half of a surrogate pair"),
        (r"\ud83d \ude00", "half of a surrogate pair"),
    ],
)
@pytest.mark.parametrize("field", ["title", "body", "subject"])
async def test_text_that_cannot_be_stored_is_422_and_names_its_field(
    door: httpx.AsyncClient, field: str, text: str, problem: str
) -> None:
    others = {"kind": "x", "title": "t"} | {field: "HERE"}
    body = json.dumps(others).replace("HERE", text).encode()
    reply = await door.post(URL, content=body, headers=JSON)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "UNSTORABLE_TEXT"
    assert reply.json()["error"]["details"] == {"field": field, "problem": problem}


@pytest.mark.parametrize("text", [r"\\u0000", r"\\ud800", r"😀", r"\t\n"])
async def test_text_that_only_looks_like_it_is_kept(door: httpx.AsyncClient, text: str) -> None:
    body = b'{"kind": "x", "title": "' + f"a{text}".encode() + b'"}'
    reply = await door.post(URL, content=body, headers=JSON)
    assert reply.status_code == 201
    assert reply.json()["title"] == json.loads(f'"a{text}"')


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "json",
        "\xe9",
    ],
)
async def test_a_body_of_another_type_is_415(
    door: httpx.AsyncClient, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type.encode("latin-1")}
    reply = await door.post(URL, content=GOOD, headers=headers)
    assert reply.status_code == 415
    assert reply.json()["error"]["code"] == "BODY_TYPE_REFUSED"


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/x+json"]
)
async def test_every_way_to_say_json_is_taken(door: httpx.AsyncClient, content_type: str) -> None:
    reply = await door.post(URL, content=GOOD, headers={"Content-Type": content_type})
    assert reply.status_code == 201


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=-1",
        "limit=1.0",
        "limit=1_0",
        "limit=%205",
        "limit=five",
        "limit=",
        "limit=99999999999999999999999",
        "limit=5&limit=6",
        "unread=yes",
        "unread=1",
        "unread=True",
        "kind=Not%20A%20Slug",
        "kind=",
        "kind=a%00",
        "kind=%ff",
        "unraed=true",
        "offset=3",
        "limit",
        "&".join(f"a{n}=1" for n in range(60)),
    ],
)
async def test_a_query_that_cannot_be_read_is_400(door: httpx.AsyncClient, query: str) -> None:
    reply = await door.get(f"{URL}?{query}")
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "INVALID_PARAMETERS"
    assert reply.json()["error"]["details"]["parameters"]


@pytest.mark.parametrize(
    "text", ["7", "x" * 36, KNOWN.upper(), KNOWN + "%0A", "%00", "..%2F..", "☃", "a" * 9000]
)
async def test_an_id_that_is_none_is_400(door: httpx.AsyncClient, text: str) -> None:
    for reply in (await door.get(f"{URL}/{text}"), await door.post(f"{URL}/{text}/read")):
        assert reply.status_code in (400, 404)
        code = reply.json()["error"]["code"]
        assert code == ("MALFORMED_ID" if reply.status_code == 400 else "ROUTE_NOT_FOUND")
