"""What the daemon says and does on each engine."""

import os
import stat
from pathlib import Path

import httpx

import coven
from coven.daemon.daemon import Daemon
from tests.upgrades import old_stores


async def test_health_is_open_to_everybody_and_names_the_engine(
    daemon: Daemon, engine_name: str
) -> None:
    async with httpx.AsyncClient(base_url=daemon.url) as anybody:
        answer = await anybody.get("/health")
    assert answer.status_code == 200
    health = answer.json()
    assert health.pop("uptime_seconds") >= 0
    assert health == {
        "status": "ok",
        "version": coven.__version__,
        "store": engine_name,
        "pid": os.getpid(),
    }


async def test_a_store_in_good_order_is_said_to_be(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/v1/store/check")
    assert (answer.status_code, answer.json()) == (200, {"ok": True, "problems": []})


async def test_a_backup_is_a_whole_store_for_its_owner_or_says_whose_work_it_is(
    daemon: Daemon, http: httpx.AsyncClient, engine_name: str
) -> None:
    draft = {"kind": "test", "title": "in the copy"}
    await http.post("/api/v1/notifications", json=draft)
    answer = await http.post("/api/v1/store/backup", json={"name": "mine.db"})
    place = daemon.settings.state_directory / "backups" / "mine.db"
    if engine_name == "postgres":
        assert answer.is_error
        assert "pg_dump" in answer.text
        assert not place.exists()
        return
    assert answer.status_code == 200, answer.text
    assert Path(answer.json()["path"]) == place
    assert answer.json()["bytes"] == place.stat().st_size
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    await http.post("/api/v1/notifications", json=draft | {"title": "too late"})
    rows = old_stores.rows(f"sqlite:{place}")["notifications"]
    assert [row["title"] for row in rows] == ["in the copy"]
