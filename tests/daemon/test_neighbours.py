"""Two daemons that come near each other: on one database file, or on one shared store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from coven import config
from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from coven.store import cursors
from coven.store.cursors import Cursor
from coven.store.lock import DatabaseLocked
from tests.eventually import eventually
from tests.spec.visitors import get, listening, post, visiting


@pytest.fixture
async def neighbour(daemon: Daemon, tmp_path: Path, store_url: str) -> AsyncIterator[Daemon]:
    """Another daemon, in another directory, on the same store."""
    settings = await asyncio.to_thread(_settings, tmp_path / "neighbour", store_url)
    async with boot.running(settings, SystemClock()) as running:
        yield running


@pytest.mark.parametrize("linked", [False, True])
async def test_two_projects_cannot_have_one_database_file(tmp_path: Path, linked: bool) -> None:
    shared, link = tmp_path / "shared", tmp_path / "link"
    shared.mkdir()
    link.symlink_to(shared)
    url = f"sqlite:{shared / 'x.db'}"
    other = f"sqlite:{link / 'x.db'}" if linked else url
    first = await asyncio.to_thread(_settings, tmp_path / "one", url)
    second = await asyncio.to_thread(_settings, tmp_path / "two", other)
    async with boot.running(first):
        with pytest.raises(DatabaseLocked):
            async with boot.running(second):
                pass
    async with boot.running(second):
        pass


@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
async def test_a_token_that_is_revoked_elsewhere_loses_its_streams_here(
    daemon: Daemon, neighbour: Daemon, http: httpx.AsyncClient
) -> None:
    made = (await http.post("/api/v1/tokens", json={"name": "t", "scope": "read"})).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    async with (
        httpx.AsyncClient(base_url=neighbour.url, headers=headers, timeout=10) as guest,
        listening(guest) as stream,
    ):
        assert (await stream.frame()).event == "open"
        assert (await http.delete(f"/api/v1/tokens/{made['id']}")).status_code in (200, 204)

        async def ended() -> bool:
            try:
                await stream.frame()
            except (EOFError, httpx.HTTPError):
                return True
            return False

        await eventually(ended)


async def test_a_stream_from_beyond_the_end_is_told_to_begin_anew(daemon: Daemon) -> None:
    async with visiting(daemon) as http:
        (posted,) = await post(http, "one")
        end = await get(http, "/state")
        place = (await get(http, "/events"))["next_cursor"]
        page = await get(http, "/events", since=_beyond(place))
        assert page["items"] == []
        async with listening(http, last_event_id=_beyond(place)) as stream:
            told = await stream.frame()
            assert (told.event, told.id) == ("resync", end["cursor"])
            await post(http, "two")
            (event,) = await stream.told(1)
            assert event["data"]["title"] == "two"
    assert posted["title"] == "one"


def _settings(directory: Path, store: str) -> Settings:
    directory.mkdir()
    return config.load(directory, environment={}, port=0, store=store)


def _beyond(place: str) -> str:
    found = cursors.parse(place)
    return Cursor(found.epoch, found.stream, found.seq + 1000).render()
