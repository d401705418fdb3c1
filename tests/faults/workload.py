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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found to be untrue after the last life; nothing, where all promises were kept."""

    lost: int
    """Acknowledged, and not there as it was acknowledged."""
    lied: int
    """Refused, and there all the same."""
    doubled: int
    """There twice: rows, or events of one row."""
    gaps: int
    """Numbers of events that are missing, in the log or in what a reader of the stream saw."""

    def __bool__(self) -> bool:
        """Whether anything is untrue."""
        return bool(self.lost or self.lied or self.doubled or self.gaps)


async def verify(daemon: RealDaemon, told: Told, *, retention: bool = False) -> Verdict:
    """Everything that was promised is true, nothing that was refused is, and no event is odd."""
    async with daemon.connect() as http:
        await _retry_unknown(http, told)
        rows = await _all(http, NOTIFICATIONS, "cursor")
        events = await _all(http, "/events", "since")
        state = (await http.get("/state")).json()
        check = (await http.post("/api/v1/store/check")).json()
    verdict = _verdict(told, rows, events, retention=retention)
    assert not verdict, verdict
    assert state["seq"] == events[-1]["seq"], "the head is not the last event"
    times = [event["timestamp"] for event in events]
    assert all(a < b for a, b in pairwise(times)), "times do not rise"
    assert check["ok"], check
    return verdict


def _verdict(
    told: Told, rows: list[dict[str, Any]], events: list[dict[str, Any]], *, retention: bool
) -> Verdict:
    titles = [row["title"] for row in rows]
    ids = {row["title"]: row["id"] for row in rows}
    unread = {row["id"] for row in rows if row["read_at"] is None}
    lost = [title for title, made in told.acknowledged.items() if ids.get(title) != made]
    doubled, gaps = _odd([event["seq"] for event in events])
    seen_doubled, seen_gaps = _odd(told.seen)
    if not retention:
        gaps += abs(events[0]["seq"] - 1)
        posted = [event["entity_id"] for event in events if event["type"] == "user.notification"]
        read = [event["entity_id"] for event in events if event["type"] == "notification.read"]
        for telling, true in ((posted, set(ids.values())), (read, set(ids.values()) - unread)):
            doubled += len(telling) - len(set(telling))
            gaps += len(set(telling) ^ true)
    return Verdict(
        lost=len(lost) + len(told.read & unread),
        lied=len(told.refused & set(titles)),
        doubled=len(titles) - len(set(titles)) + doubled + seen_doubled,
        gaps=gaps + seen_gaps,
    )


def _odd(numbers: list[int]) -> tuple[int, int]:
    """How many numbers come twice or too late, and how many are missing between the others."""
    doubled = sum(b <= a for a, b in pairwise(numbers))
    gaps = sum(b - a - 1 for a, b in pairwise(numbers) if b > a)
    return doubled, gaps


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
