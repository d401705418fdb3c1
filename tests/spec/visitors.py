"""What a visitor of a daemon does in these tests: post, read a page, listen to the stream.

The stream is read here by hand, line by line as the standard says, and not by our own client: what
is promised is what everybody's reader sees.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from coven.daemon.daemon import Daemon

NOTIFICATIONS = "/api/v1/notifications"
WITHIN_SECONDS = 10.0
_SIGNS = ("open", "heartbeat")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a stream."""

    event: str
    id: str
    data: Json


class Stream:
    """An open stream."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def frame(self) -> Frame:
        """The next frame, whatever it is."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(WITHIN_SECONDS):
            async for line in self._lines:
                if not line and "data" in fields:
                    data = json.loads(fields["data"])
                    return Frame(event=fields["event"], id=fields["id"], data=data)
                name, _, value = line.partition(": ")
                fields[name] = value
        raise EOFError("the stream has ended")

    async def told(self, count: int) -> list[Json]:
        """The next events, as many as asked for."""
        found: list[Json] = []
        while len(found) < count:
            frame = await self.frame()
            if frame.event in _SIGNS:
                continue
            assert (frame.event, frame.id) == (frame.data["type"], frame.data["id"])
            found.append(frame.data)
        return found


@asynccontextmanager
async def listening(
    http: httpx.AsyncClient, *, since: str | None = None, last_event_id: str | None = None
) -> AsyncIterator[Stream]:
    """The live stream; leaving the `with` drops the connection."""
    headers = {"Accept": "text/event-stream"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    asked = {} if since is None else {"since": since}
    async with http.stream("GET", "/events", params=asked, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield Stream(answer.aiter_lines())


def visiting(daemon: Daemon) -> httpx.AsyncClient:
    """Plain HTTP to a daemon of this process, with the owner's token."""
    headers = {"Authorization": f"Bearer {daemon.token}"}
    return httpx.AsyncClient(base_url=daemon.url, headers=headers, timeout=WITHIN_SECONDS)


async def post(http: httpx.AsyncClient, *titles: str) -> list[Json]:
    """Notifications, one after the other; each answer that came."""
    made: list[Json] = []
    for title in titles:
        answer = await http.post(NOTIFICATIONS, json={"kind": "spec", "title": title})
        assert answer.status_code == 201, answer.text
        made.append(answer.json())
    return made


async def log_of(
    http: httpx.AsyncClient, *, since: str | None = None, limit: int = 500
) -> list[Json]:
    """Every event after a place, page by page as a visitor reads them."""
    found: list[Json] = []
    while True:
        page = await get(
            http, "/events", limit=limit, **({} if since is None else {"since": since})
        )
        found += page["items"]
        if not page["has_more"]:
            return found
        since = page["next_cursor"]


async def get(http: httpx.AsyncClient, path: str, **asked: Any) -> Json:
    """What a path answers when all is well."""
    answer = await http.get(path, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def titles(events: list[Json]) -> list[str]:
    """The titles of the notifications that events tell of."""
    return [event["data"]["title"] for event in events if event["type"] == "user.notification"]
