"""How a request came: its name for us, its origin, its headers, the size of its body."""

import httpx
import pytest

from coven.doors.arrival import BODY_BYTES_MAX
from coven.doors.http import Doors
from tests.doors.asgi import Call
from tests.doors.conftest import OWNER_TOKEN, through_port

URL = "/api/v1/notifications"
OWNER = (b"authorization", f"Bearer {OWNER_TOKEN}".encode())
JSON = (b"content-type", b"application/json")


@pytest.fixture
def engine_name() -> str:
    """What is tested here ends before the store."""
    return "sqlite"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8765", "localhost", "LocalHost:1", "[::1]", "[::1]:65535"],
)
async def test_our_own_names_are_taken_with_any_port(doors: Doors, host: str) -> None:
    call = await Call(path=URL, headers=[OWNER], host=host.encode()).run(doors)
    assert call.status == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        b"",
        b"evil.example",
        b"evil.example:8765",
        b"127.0.0.1.evil.example",
        b"127.0.0.1:8765@evil.example",
        b"localhost:8765/x",
        b"localhost\n",
        b"0.0.0.0",
        b"127.0.0.2",
        b"[::1",
        b"\xff",
    ],
)
async def test_a_foreign_name_is_refused_even_with_the_owners_token(
    doors: Doors, host: bytes | None
) -> None:
    call = await Call(path=URL, headers=[OWNER], host=host).run(doors)
    assert call.status == 403
    assert call.error["code"] == "HOST_REFUSED"
    assert call.error["remedy"]


async def test_the_socket_has_no_name_to_be_wrong(socket_door: httpx.AsyncClient) -> None:
    assert (await socket_door.get(URL, headers={"Host": "coven"})).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9999",
        "http://localhost:8765",
        "http://127.0.0.1:8765.evil.example",
        "file://",
        "",
    ],
)
async def test_a_page_that_is_not_ours_is_refused(doors: Doors, origin: str) -> None:
    headers = [OWNER, (b"origin", origin.encode())]
    call = await Call(path=URL, headers=headers).run(doors)
    assert call.status == 403
    assert call.error["code"] == "ORIGIN_REFUSED"


async def test_a_page_that_we_served_ourselves_may_call(door: httpx.AsyncClient) -> None:
    reply = await door.get(URL, headers={"Origin": "http://127.0.0.1:8765"})
    assert reply.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", b"localhost")],
        [OWNER, OWNER],
        [OWNER, (b"idempotency-key", b"a"), (b"idempotency-key", b"b")],
        [OWNER, (b"content-length", b"1"), (b"content-length", b"1")],
        [OWNER, (b"content-length", b"-1")],
        [OWNER, (b"content-length", b"1e3")],
        [OWNER, (b"content-length", b"\xb2")],
        [OWNER, *((f"x-{n}".encode(), b"") for n in range(101))],
        [OWNER, (b"x-long", b"x" * (33 * 1024))],
    ],
)
async def test_headers_that_make_no_sense_are_refused(
    doors: Doors, headers: list[tuple[bytes, bytes]]
) -> None:
    call = await Call(path=URL, headers=headers).run(doors)
    assert call.status == 400
    assert call.error["code"] == "HEADERS_REFUSED"


async def test_a_body_that_announces_too_much_is_refused_before_it_is_read(doors: Doors) -> None:
    length = (b"content-length", str(BODY_BYTES_MAX + 1).encode())
    call = await Call(path=URL, method="POST", headers=[OWNER, JSON, length]).run(doors)
    assert call.status == 413
    assert call.error["code"] == "BODY_TOO_LARGE"
    assert call.error["details"] == {"bytes_limit": BODY_BYTES_MAX}
    assert call.received == 0


async def test_a_chunked_body_is_counted_while_it_comes(doors: Doors) -> None:
    call = Call(path=URL, method="POST", headers=[OWNER, JSON])
    for _ in range(200):
        call.give(b" " * 64 * 1024, more=True)
    await call.run(doors)
    assert call.status == 413
    assert call.received == 17


async def test_a_body_in_pieces_is_put_together(doors: Doors) -> None:
    call = Call(path=URL, method="POST", headers=[OWNER, JSON])
    call.give(b'{"kind": "x", ', more=True).give(b'"title"', more=True).give(b': "t"}')
    await call.run(doors)
    assert call.status == 201


async def test_a_caller_that_hangs_up_in_its_body_gets_and_changes_nothing(
    doors: Doors, door: httpx.AsyncClient
) -> None:
    call = Call(path=URL, method="POST", headers=[OWNER, JSON])
    await call.give(b'{"kind": "x", "title": "t"}', more=True).hang_up().run(doors)
    assert call.sent == []
    assert (await door.get(URL)).json()["items"] == []


async def test_a_stranger_learns_nothing_from_a_body_it_may_not_send(doors: Doors) -> None:
    async with through_port(doors, None) as stranger:
        reply = await stranger.post(URL, content=b"{not json")
    assert reply.status_code == 401


async def test_websockets_are_refused(doors: Doors) -> None:
    call = Call(path=URL)
    call.scope["type"] = "websocket"
    await call.run(doors)
    assert call.sent == [{"type": "websocket.close", "code": 1008}]
