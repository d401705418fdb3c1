"""A workload that remembers what it was told, and the invariants that must hold afterwards."""

import asyncio
import contextlib
import json
import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

from tests.faults.harness import RealDaemon

NOTIFICATIONS = "/api/v1/notifications"


@dataclass(slots=True)
class Told:
    """What the daemon has promised: the other side of the ledger."""

    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    """Title to id of each notification whose 201 has arrived."""
    read: set[str] = field(default_factory=set[str])
    """Ids whose marking as read was acknowledged."""
    refused: set[str] = field(default_factory=set[str])
    """Titles that were refused with a final answer."""
    unknown: dict[str, str] = field(default_factory=dict[str, str])
    """Title to idempotency key of each request whose answer was lost."""
    seen: list[int] = field(default_factory=list[int])
    """The numbers of the events that a reader of the stream has seen, over all daemons."""
    place: str | None = None
    """The id of the last frame that the reader has."""


async def work(daemon: RealDaemon, told: Told, rng: random.Random, *, writes: int) -> None:
    """Write from several sides and read the stream, until done or until the daemon is gone."""
    async with daemon.connect() as http:
        reader = asyncio.create_task(_follow(http, told))
        writers = [_write(http, told, random.Random(rng.random()), writes // 4) for _ in range(4)]
        await asyncio.gather(*writers)
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


async def _write(http: httpx.AsyncClient, told: Told, rng: random.Random, writes: int) -> None:
    for _ in range(writes):
        title = f"n-{rng.getrandbits(64):016x}"
        key = f"k-{title}"
        refusable = rng.random() < 0.15
        draft = {"kind": "BAD KIND" if refusable else "fault", "title": title, "body": "x" * 200}
        told.unknown[title] = key
        try:
            answer = await http.post(NOTIFICATIONS, json=draft, headers={"Idempotency-Key": key})
        except httpx.HTTPError:
            return
        _note(told, title, answer)
        if answer.status_code == 201 and rng.random() < 0.3:
            made = answer.json()["id"]
            try:
                marked = await http.post(f"{NOTIFICATIONS}/{made}/read")
            except httpx.HTTPError:
                return
            if marked.status_code == 200:
                told.read.add(made)


def _note(told: Told, title: str, answer: httpx.Response) -> None:
    if answer.status_code == 201:
        told.acknowledged[title] = answer.json()["id"]
        del told.unknown[title]
    elif answer.status_code < 500:
        told.refused.add(title)
        del told.unknown[title]
    else:
        code = answer.json()["error"]["code"]
        assert code in ("STORE_BUSY", "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"), answer.text


async def _follow(http: httpx.AsyncClient, told: Told) -> None:
    headers = {"Accept": "text/event-stream"}
    if told.place is not None:
        headers["Last-Event-ID"] = told.place
    since = {} if told.place else {"since": "1970-01-01T00:00:01Z"}
    with contextlib.suppress(httpx.HTTPError):
        async with http.stream(
            "GET", "/events", params=since, headers=headers, timeout=60
        ) as answer:
            place = ""
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    place = line[4:]
                elif line.startswith("data: "):
                    body = json.loads(line[6:])
                    if "seq" in body:
                        told.seen.append(body["seq"])
                elif not line:
                    told.place = place or told.place


async def verify(daemon: RealDaemon, told: Told, *, retention: bool = False) -> None:
    """Everything that was promised is true, nothing that was refused is, and no event is odd."""
    async with daemon.connect() as http:
        await _retry_unknown(http, told)
        rows = await _all(http, NOTIFICATIONS, "cursor")
        titles = [row["title"] for row in rows]
        assert len(titles) == len(set(titles)), "a notification is there twice"
        ids = {row["title"]: row["id"] for row in rows}
        lost = {title for title, made in told.acknowledged.items() if ids.get(title) != made}
        assert not lost, f"acknowledged and lost: {lost}"
        assert not told.refused & set(titles), "refused and written all the same"
        unread = {row["id"] for row in rows if row["read_at"] is None}
        assert not told.read & unread, "marking as read was acknowledged and lost"
        events = await _all(http, "/events", "since")
        _verify_events(events, rows, retention=retention)
        state = (await http.get("/state")).json()
        assert state["seq"] == events[-1]["seq"], "the head is not the last event"
        check = (await http.post("/api/v1/store/check")).json()
        assert check["ok"], check
    first = told.seen[0] if told.seen else 1
    assert told.seen == list(range(first, first + len(told.seen))), "the stream skipped or repeated"


def _verify_events(
    events: list[dict[str, Any]], rows: list[dict[str, Any]], *, retention: bool
) -> None:
    numbers = [event["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "the numbers have a gap"
    times = [event["timestamp"] for event in events]
    assert all(a < b for a, b in pairwise(times)), "times do not rise"
    if retention:
        return
    assert numbers[0] == 1, "the log does not begin at its beginning"
    posted = [event["entity_id"] for event in events if event["type"] == "user.notification"]
    assert sorted(posted) == sorted(row["id"] for row in rows), "events and rows differ"
    read = [event["entity_id"] for event in events if event["type"] == "notification.read"]
    assert sorted(read) == sorted(r["id"] for r in rows if r["read_at"] is not None)


async def _retry_unknown(http: httpx.AsyncClient, told: Told) -> None:
    """Who did not hear the answer asks again with the same key, and gets exactly one thing."""
    for title, key in list(told.unknown.items()):
        for kind in ("fault", "BAD KIND"):
            draft = {"kind": kind, "title": title, "body": "x" * 200}
            answer = await http.post(NOTIFICATIONS, json=draft, headers={"Idempotency-Key": key})
            assert answer.status_code in (201, 422), answer.text
            if answer.status_code == 201:
                _note(told, title, answer)
                break


async def _all(http: httpx.AsyncClient, path: str, cursor: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    place: dict[str, Any] = {}
    while True:
        answer = await http.get(path, params={"limit": 500, **place})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        if not page["has_more"]:
            return found
        place = {cursor: page["next_cursor"]}
