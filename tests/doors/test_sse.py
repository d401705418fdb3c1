"""Streams: how a frame looks, and every way in which a stream ends."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.registry import CollectorRegistry

from coven.core.ids import TokenId
from coven.doors import callers, http
from coven.doors.access import Access, Principal
from coven.doors.http import Doors
from coven.doors.model import Scope
from coven.doors.sse import EventStream, frame
from coven.store import Store
from tests.doors.asgi import Call
from tests.doors.conftest import OWNER_TOKEN
from tests.eventually import eventually

OWNER = (b"authorization", f"Bearer {OWNER_TOKEN}".encode())


class Source:
    """A feed whose every piece the test gives by hand, and which notices that it was closed."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.is_closed = False

    async def frames(self) -> AsyncIterator[bytes]:
        try:
            while (piece := await self.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.is_closed = True

    def give(self, *pieces: bytes | Exception | None) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)


@pytest.fixture
def engine_name() -> str:
    """No stream here reads from the store."""
    return "sqlite"


@pytest.fixture
async def source() -> Source:
    return Source()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def doors(source: Source, store: Store, access: Access, registry: CollectorRegistry) -> Doors:
    router = http.router(tag="test")

    @router.get("/stream", response_model=None)
    async def stream(caller: callers.Reading) -> EventStream:
        return EventStream(source.frames(), send_seconds_max=0.05)

    return http.build(
        [router], title="T", version="1", store=store, access=access, registry=registry
    )


def listen(doors: Doors, call: Call) -> asyncio.Task[Call]:
    return asyncio.create_task(call.run(doors))


async def test_a_stream_sends_each_piece_at_once_and_ends_with_its_source(
    doors: Doors, source: Source
) -> None:
    call = Call(path="/stream", headers=[OWNER])
    running = listen(doors, call)
    source.give(frame(data="1", id="a"))
    await eventually(lambda: call.body == b"id: a\ndata: 1\n\n")
    assert not call.is_complete
    source.give(None)
    await asyncio.wait_for(running, 5)
    assert call.is_complete
    assert call.headers[b"content-type"].startswith(b"text/event-stream")
    assert b"content-length" not in call.headers
    assert call.headers[b"cache-control"] == b"no-store"


async def test_a_reader_that_hangs_up_gives_its_place_in_the_feed_back(
    doors: Doors, source: Source, registry: CollectorRegistry
) -> None:
    call = Call(path="/stream", headers=[OWNER])
    running = listen(doors, call)
    await eventually(lambda: registry.get_sample_value("coven_open_streams") == 1)
    call.hang_up()
    await asyncio.wait_for(running, 5)
    assert source.is_closed
    assert registry.get_sample_value("coven_open_streams") == 0


async def test_a_reader_that_stops_reading_is_cut_off_and_loses_nothing_it_has(
    doors: Doors, source: Source
) -> None:
    call = Call(path="/stream", headers=[OWNER], blocked_after=2)
    running = listen(doors, call)
    source.give(frame(data="1", id="a"), frame(data="2", id="b"))
    await asyncio.wait_for(running, 5)
    assert source.is_closed
    assert call.body == frame(data="1", id="a")
    assert not call.is_complete


async def test_stopping_the_doors_ends_open_streams_cleanly_and_refuses_new_ones(
    doors: Doors, source: Source
) -> None:
    calls = [Call(path="/stream", headers=[OWNER]) for _ in range(3)]
    running = [listen(doors, call) for call in calls]
    await eventually(lambda: all(call.sent for call in calls))
    doors.close()
    await asyncio.wait_for(asyncio.gather(*running), 5)
    late = await asyncio.wait_for(Call(path="/stream", headers=[OWNER]).run(doors), 5)
    assert all(call.is_complete for call in calls)
    assert (late.status, late.error["code"]) == (503, "DAEMON_STOPPING")
    assert late.headers[b"retry-after"] == b"1"


async def test_head_of_a_stream_is_answered_with_its_headers_and_opens_none(
    doors: Doors, registry: CollectorRegistry
) -> None:
    call = await asyncio.wait_for(
        Call(path="/stream", method="HEAD", headers=[OWNER]).run(doors), 5
    )
    assert (call.status, call.body, call.is_complete) == (200, b"", True)
    assert call.headers[b"content-type"].startswith(b"text/event-stream")
    assert b"content-length" not in call.headers
    assert registry.get_sample_value("coven_open_streams") == 0


async def test_revoking_a_token_ends_the_streams_that_it_opened(
    doors: Doors, access: Access
) -> None:
    token_id = TokenId("t")
    holder = Principal(kind="token", name="n", scope=Scope.READ, token_id=token_id)
    ended, kept = asyncio.Event(), asyncio.Event()
    access.watch(holder, ended)
    access.watch(holder, kept)
    access.unwatch(holder, kept)
    access.forget(token_id)
    late = asyncio.Event()
    access.watch(holder, late)
    assert ended.is_set()
    assert late.is_set()
    assert not kept.is_set()


async def test_a_source_that_breaks_is_logged_and_ends_the_reply_unfinished(
    doors: Doors, source: Source
) -> None:
    call = Call(path="/stream", headers=[OWNER])
    with structlog.testing.capture_logs() as logs:
        running = listen(doors, call)
        await eventually(lambda: call.sent)
        source.give(frame(data="1"), ZeroDivisionError("inside"))
        await asyncio.wait_for(running, 5)
    assert [one["event"] for one in logs] == ["request_failed"]
    assert call.body == frame(data="1")
    assert not call.is_complete
    assert source.is_closed


def read_back(raw: bytes) -> dict[str, str]:
    """A reader of event streams, as the HTML standard describes it."""
    fields: dict[str, str] = {}
    data: list[str] = []
    assert raw.endswith(b"\n\n")
    text = raw.decode().replace("\r\n", "\n").replace("\r", "\n")
    for line in text.removesuffix("\n\n").split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        else:
            fields[name] = value
    return {**fields, "data": "\n".join(data)}


@given(data=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_data_survives_a_frame_up_to_the_kind_of_its_line_breaks(data: str) -> None:
    unified = data.replace("\r\n", "\n").replace("\r", "\n")
    assert read_back(frame(data=data, event="e", id="7")) == {
        "event": "e",
        "id": "7",
        "data": unified,
    }


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\x00b"])
def test_a_name_or_an_id_with_a_line_break_cannot_forge_a_frame(bad: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        frame(data="x", event=bad)
    with pytest.raises(ValueError, match="one line"):
        frame(data="x", id=bad)
