"""The table `kb.agent_runs`: an older one with rows in it is given what resuming needs.

The door of these promises is the database itself, as anybody sees it who opens it with its own
tools, so the questions are asked of the database and not of the store.
"""

from pathlib import Path

import httpx
import pytest

from coven.config import Settings
from coven.core.clock import SystemClock
from coven.daemon import boot
from coven.daemon.rooms import ROOMS
from coven.store import open_store
from tests.spec.manifest import requirement
from tests.upgrades import old_stores
from tests.upgrades.old_stores import Column

BASELINE = 2
SIX = ("parent_run_id", "step_count", "max_steps", "resumed_from", "error_message", "completed_at")
TYPES = {
    "sqlite": {"id": "TEXT", "number": "INTEGER", "text": "TEXT", "instant": "TEXT"},
    "postgres": {
        "id": "uuid",
        "number": "integer",
        "text": "text",
        "instant": "timestamp with time zone",
    },
}


@pytest.fixture
async def upgraded(store_url: str, clock: SystemClock) -> old_stores.Rows:
    """What stood in the older store, which has been opened by the code of today."""
    old_stores.place(BASELINE, store_url)
    before = old_stores.rows(store_url)
    await (await open_store(store_url, clock=clock, rooms=ROOMS)).close()
    return before


@requirement("R-46")
async def test_the_older_table_of_runs_has_none_of_the_six_columns(store_url: str):
    """The proof of the next test: the columns it finds are made by an upgrade."""
    old_stores.place(BASELINE, store_url)
    assert not set(SIX) & set(old_stores.columns(store_url, "agent_runs"))


@requirement("R-46")
async def test_an_upgrade_gives_runs_six_columns_that_are_nullable_or_have_a_default(
    upgraded: old_stores.Rows, store_url: str, engine_name: str
):
    """Promise: each has its type, and both links between runs are foreign keys."""
    types = TYPES[engine_name]
    link = Column(
        type=types["id"],
        nullable=True,
        default=None,
        references="agent_runs(id) ON DELETE SET NULL",
    )
    found = old_stores.columns(store_url, "agent_runs")
    assert {name: found[name] for name in SIX} == {
        "parent_run_id": link,
        "step_count": Column(type=types["number"], nullable=False, default="0", references=None),
        "max_steps": Column(type=types["number"], nullable=True, default=None, references=None),
        "resumed_from": link,
        "error_message": Column(type=types["text"], nullable=True, default=None, references=None),
        "completed_at": Column(type=types["instant"], nullable=True, default=None, references=None),
    }


@requirement("R-47")
async def test_the_rows_of_the_older_table_keep_every_value(
    upgraded: old_stores.Rows, store_url: str
):
    """Promise: what was there is there, and the new columns say that nothing is known."""
    nothing_known = dict.fromkeys(SIX) | {
        "step_count": 0,
        "project_id": "default",
        "node_id": None,
    }
    after = old_stores.rows(store_url)["agent_runs"]
    assert len(after) > 5
    assert after == [row | nothing_known for row in upgraded["agent_runs"]]


@requirement("R-46", "R-47")
async def test_a_run_that_is_deleted_leaves_the_runs_that_came_of_it(
    upgraded: old_stores.Rows, store_url: str
):
    """Promise: older rows can be linked to after the upgrade, and a link never holds one back."""
    older, newer = upgraded["agent_runs"][0]["id"], upgraded["agent_runs"][1]["id"]
    old_stores.run(
        store_url,
        f"UPDATE kb.agent_runs SET parent_run_id = '{older}', resumed_from = '{older}'"
        f" WHERE id = '{newer}'",
    )
    linked = {row["id"]: row for row in old_stores.rows(store_url)["agent_runs"]}[newer]
    assert (linked["parent_run_id"], linked["resumed_from"]) == (older, older)

    old_stores.run(store_url, f"DELETE FROM kb.agent_runs WHERE id = '{older}'")
    left = {row["id"]: row for row in old_stores.rows(store_url)["agent_runs"]}
    assert older not in left
    assert (left[newer]["parent_run_id"], left[newer]["resumed_from"]) == (None, None)


@requirement("R-46")
async def test_a_daemon_that_starts_on_the_older_table_brings_it_up_to_date_and_answers(
    settings: Settings, clock: SystemClock, engine_name: str
):
    """Promise: the upgrade is part of an ordinary start; nobody has to do it."""
    if engine_name == "sqlite":
        Path(settings.store_url.removeprefix("sqlite:")).parent.mkdir(exist_ok=True)
    old_stores.place(BASELINE, settings.store_url)
    ids = {row["id"] for row in old_stores.rows(settings.store_url)["agent_runs"]}
    async with (
        boot.running(settings, clock) as daemon,
        httpx.AsyncClient(
            base_url=daemon.url, headers={"Authorization": f"Bearer {daemon.token}"}
        ) as http,
    ):
        version = (await http.get("/version")).json()
        state = (await http.get("/state")).json()
    assert version["schema_version"] > BASELINE
    assert (state["tasks"], state["agents"]) == ([], [])
    assert set(SIX) <= set(old_stores.columns(settings.store_url, "agent_runs"))
    assert {row["id"] for row in old_stores.rows(settings.store_url)["agent_runs"]} == ids
