"""Upkeep: loops, retention and the care of the database, as people and scripts ask for it."""

import httpx
import pytest

from coven.daemon.daemon import Daemon
from tests.eventually import eventually

LOOP = "expired_records"


@pytest.fixture
def engine_name() -> str:
    """What differs by engine stands beside this file."""
    return "sqlite"


@pytest.fixture
async def reader(daemon: Daemon, http: httpx.AsyncClient) -> httpx.AsyncClient:
    """Somebody whose token is for reading only."""
    made = await http.post("/api/v1/tokens", json={"name": "a reader", "scope": "read"})
    token = made.json()["token"]
    return httpx.AsyncClient(base_url=daemon.url, headers={"Authorization": f"Bearer {token}"})


async def test_every_loop_is_listed_with_what_it_does_and_how_it_fared(
    http: httpx.AsyncClient,
) -> None:
    async def first_pass() -> bool:
        return all(one["passes"] for one in (await http.get("/api/v1/loops")).json()["items"])

    await eventually(first_pass)
    listed = (await http.get("/api/v1/loops")).json()["items"]
    assert {"expired_records", "lost_files"} <= {one["name"] for one in listed}
    (loop,) = [one for one in listed if one["name"] == LOOP]
    assert loop.pop("last_run_at").endswith("Z")
    assert loop.pop("meaning").endswith(".")
    assert loop == {
        "name": LOOP,
        "every": "1h",
        "passes": 1,
        "failures": 0,
        "last_counts": {"events": 0, "idempotency_keys": 0},
        "last_error": None,
    }


async def test_a_loop_can_be_run_now(daemon: Daemon, http: httpx.AsyncClient) -> None:
    await eventually(lambda: daemon.loops.all()[0].passes == 1)
    answer = await http.post(f"/api/v1/loops/{LOOP}/run")
    assert (answer.status_code, answer.json()["passes"]) == (200, 2)


async def test_a_loop_that_is_not_there_is_not_found(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/v1/loops/nothing/run")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "LOOP_UNKNOWN")


async def test_a_sweep_says_rule_by_rule_what_it_is_about(http: httpx.AsyncClient) -> None:
    for verb in ("plan", "run"):
        body = (await http.post(f"/api/v1/retention/{verb}")).json()
        rules = {rule["name"]: rule for rule in body["rules"]}
        assert body["rows"] == 0
        assert {(r["name"], r["table"], r["older_than"]) for r in rules.values()} == {
            ("events", "events", "1d"),
            ("idempotency_keys", "idempotency_keys", "1d"),
        }
        assert {rule["project"] for rule in rules.values()} == {"default"}


async def test_who_may_read_may_look_but_neither_sweep_nor_copy_nor_end_the_daemon(
    daemon: Daemon, reader: httpx.AsyncClient
) -> None:
    async with reader:
        for path in ("/state", "/events", "/api/v1/loops"):
            assert (await reader.get(path)).status_code == 200, path
        assert (await reader.post("/api/v1/retention/plan")).status_code == 200
        refused = (
            "/shutdown",
            f"/api/v1/loops/{LOOP}/run",
            "/api/v1/retention/run",
            "/api/v1/store/check",
            "/api/v1/store/backup",
        )
        for path in refused:
            assert (await reader.post(path)).status_code == 403, path
    assert not daemon.stopping.is_set()
