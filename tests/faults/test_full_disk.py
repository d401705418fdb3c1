"""A full disk under a real daemon: it says so, goes on reading, and loses nothing."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.harness import RealDaemon, real_daemon

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

DISK_BYTES = 16 << 20
ROOM_BYTES = 2 << 20
POSTS_MAX = 2_000
NOTIFICATIONS = "/api/v1/notifications"


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small real file system: ext4 in a file, or in memory where no loop device can be had."""
    folder, image = tmp_path / "disk", tmp_path / "image"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    made = _run("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
    mounted = _run("mount", "-o", "loop", str(image), str(folder))
    if made.returncode or mounted.returncode:
        mounted = _run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder))
    assert mounted.returncode == 0, (
        f"this test must be root on a machine where it may mount a file system: {mounted.stderr}"
    )
    yield folder
    assert _run("umount", "--lazy", str(folder)).returncode == 0


def _fill(filler: Path) -> None:
    """Leave little room on the disk, so that posts have only that to fill."""
    room = os.statvfs(filler.parent)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - ROOM_BYTES)


@pytest.fixture
def daemon(disk: Path) -> Iterator[RealDaemon]:
    with real_daemon(disk / "p") as started:
        yield started


def test_a_full_disk_is_told_reads_go_on_and_everything_acknowledged_survives(
    daemon: RealDaemon, disk: Path
) -> None:
    filler = disk / "filler"
    assert daemon.start(), daemon.output
    _fill(filler)
    acknowledged = asyncio.run(_post_until_full(daemon))
    asyncio.run(_verify(daemon, acknowledged))  # while it is full
    filler.unlink()
    acknowledged.append(asyncio.run(_post_after_all(daemon)))
    assert daemon.stop() == 0, daemon.output
    assert daemon.start(), daemon.output
    asyncio.run(_verify(daemon, acknowledged))


def test_a_daemon_that_is_killed_on_a_full_disk_loses_nothing_either(
    daemon: RealDaemon, disk: Path
) -> None:
    filler = disk / "filler"
    assert daemon.start(), daemon.output
    _fill(filler)
    acknowledged = asyncio.run(_post_until_full(daemon))
    daemon.kill()
    filler.unlink()
    assert daemon.start(), daemon.output
    asyncio.run(_verify(daemon, acknowledged))
    acknowledged.append(asyncio.run(_post_after_all(daemon)))
    asyncio.run(_verify(daemon, acknowledged))


async def _post_until_full(daemon: RealDaemon) -> list[str]:
    """The ids of what was acknowledged before, beside and after what had no room."""
    acknowledged: list[str] = []
    refused = 0
    async with daemon.connect() as http:
        for _ in range(POSTS_MAX // 4):
            answers = await asyncio.gather(*(_post(http, 8_000) for _ in range(4)))
            for answer in answers:
                if answer.status_code == 201:
                    acknowledged.append(answer.json()["id"])
                    continue
                assert answer.status_code == 503, answer.text
                assert answer.json()["error"]["code"] == "DISK_FULL", answer.text
                refused += 1
            if refused >= 20:
                break
    assert refused >= 20, "the disk was never full"
    assert acknowledged
    return acknowledged


async def _post_after_all(daemon: RealDaemon) -> str:
    async with daemon.connect() as http:
        answer = await _post(http, 8_000)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def _post(http: httpx.AsyncClient, length: int) -> httpx.Response:
    draft = {"kind": "fault", "title": "what fits", "body": "x" * length}
    return await http.post(NOTIFICATIONS, json=draft)


async def _verify(daemon: RealDaemon, acknowledged: list[str]) -> None:
    """What was acknowledged is there, and nothing else; the log tells of exactly that."""
    async with daemon.connect() as http:
        rows = await _all(http, NOTIFICATIONS, "cursor")
        assert sorted(row["id"] for row in rows) == sorted(acknowledged)
        events = await _all(http, "/events", "since")
        told = [event["entity_id"] for event in events if event["type"] == "user.notification"]
        assert sorted(told) == sorted(acknowledged)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert (await http.get("/state")).json()["seq"] == len(events)
        assert (await http.post("/api/v1/store/check")).json() == {"ok": True, "problems": []}


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
