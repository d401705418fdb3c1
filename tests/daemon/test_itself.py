"""What the daemon says about itself, and how it is ended from outside."""

import platform

import httpx
import pytest

import coven
from coven.daemon.daemon import Daemon
from tests.eventually import eventually


@pytest.fixture
def engine_name() -> str:
    """What differs by engine stands beside this file."""
    return "sqlite"


async def test_health_is_not_ok_when_the_store_cannot_be_read(
    daemon: Daemon, http: httpx.AsyncClient
) -> None:
    await daemon.store.close()
    answer = await http.get("/health")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
    assert answer.headers["retry-after"]


async def test_the_version_names_what_is_running(http: httpx.AsyncClient) -> None:
    version = (await http.get("/version")).json()
    assert version.pop("schema_version") >= 10
    assert version == {
        "name": "coven",
        "version": coven.__version__,
        "api": "v1",
        "python": platform.python_version(),
    }


async def test_metrics_count_requests_and_the_process_and_need_a_token(
    daemon: Daemon, http: httpx.AsyncClient
) -> None:
    await http.get("/state")
    answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "process_resident_memory_bytes" in answer.text
    counted = [line for line in answer.text.splitlines() if '"/state"' in line]
    assert any(line.endswith(" 1.0") for line in counted), answer.text
    async with httpx.AsyncClient(base_url=daemon.url) as anybody:
        assert (await anybody.get("/metrics")).status_code == 401


async def test_a_shutdown_is_answered_before_the_end_begins(
    daemon: Daemon, http: httpx.AsyncClient
) -> None:
    answer = await http.post("/shutdown")
    assert (answer.status_code, answer.json()) == (202, {"stopping": True})
    assert await eventually(daemon.stopping.is_set)
    assert daemon.reason.startswith("asked to by ")


async def test_a_state_of_nothing_is_whole(http: httpx.AsyncClient) -> None:
    state = (await http.get("/state")).json()
    assert state.pop("timestamp").endswith("Z")
    assert state.pop("cursor")
    assert state == {"tasks": [], "agents": [], "workflows": [], "questions": [], "seq": 1}
