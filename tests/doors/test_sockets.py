"""The doors on real sockets: what only a server and a kernel can show."""

import asyncio
import json

import httpx
import pytest

from coven.daemon.daemon import Daemon

URL = "/api/v1/notifications"


@pytest.fixture
def engine_name() -> str:
    """Sockets do not know the engine."""
    return "sqlite"


def over_socket(daemon: Daemon) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(uds=str(daemon.socket))
    return httpx.AsyncClient(transport=transport, base_url="http://coven")


async def exchange(daemon: Daemon, raw: bytes) -> bytes:
    """Send bytes as they are to the port, and read until the server closes."""
    host, port = daemon.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(raw)
    try:
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_the_socket_is_the_owners_and_the_port_is_nobodys(daemon: Daemon) -> None:
    async with over_socket(daemon) as owner, httpx.AsyncClient(base_url=daemon.url) as stranger:
        assert (await owner.get("/api/v1/tokens")).status_code == 200
        assert (await stranger.get("/api/v1/tokens")).status_code == 401
        for path in ("/health", "/version", "/docs", "/openapi.json"):
            assert (await stranger.get(path)).status_code == 200


async def test_a_bad_token_is_refused_on_the_socket_as_well(daemon: Daemon) -> None:
    async with over_socket(daemon) as owner:
        reply = await owner.get(URL, headers={"Authorization": "Bearer made-up"})
    assert reply.status_code == 401


async def test_no_header_of_a_stranger_makes_the_port_a_socket(daemon: Daemon) -> None:
    forged = {"X-Forwarded-For": "unix:", "X-Real-IP": "", "Forwarded": "for=unix"}
    async with httpx.AsyncClient(base_url=daemon.url, headers=forged) as stranger:
        assert (await stranger.get(URL)).status_code == 401


async def test_a_name_that_was_rebound_to_us_is_refused(daemon: Daemon) -> None:
    token = {"Authorization": f"Bearer {daemon.token}", "Host": "evil.example"}
    async with httpx.AsyncClient(base_url=daemon.url, headers=token) as page:
        reply = await page.get(URL)
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "HOST_REFUSED"


async def test_a_chunked_body_without_an_end_is_refused_when_it_is_too_large(
    daemon: Daemon,
) -> None:
    head = (
        f"POST {URL} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Authorization: Bearer {daemon.token}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    reply = await exchange(daemon, head.encode() + chunk * 17 + b"0\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "BODY_TOO_LARGE"


async def test_a_request_after_a_refused_body_is_answered_on_the_same_connection(
    daemon: Daemon,
) -> None:
    token = {"Authorization": f"Bearer {daemon.token}"}
    async with httpx.AsyncClient(base_url=daemon.url, headers=token) as client:
        for content in (b"{broken", b"x" * (1024 * 1024 + 1), b'{"kind": "x", "title": "t"}'):
            reply = await client.post(
                URL, content=content, headers={"Content-Type": "application/json"}
            )
    assert reply.status_code == 201


async def test_what_is_not_http_does_not_disturb_the_others(daemon: Daemon) -> None:
    reply = await exchange(daemon, b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 400 ")
    async with over_socket(daemon) as owner:
        assert (await owner.get(URL)).status_code == 200
