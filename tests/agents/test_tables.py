"""The table of the agents: what `/state` shows of it, and what the database never accepts."""

import pytest

from coven.agents import records
from coven.core.ids import ProjectId
from coven.store import Store
from coven.store.engine import StatementRefused
from scripts.upgrade_rows import NODE, at, id_of
from tests.upgrades import rows


async def test_an_agent_is_shown_with_its_process_and_what_was_last_seen_of_it(store: Store):
    await rows.insert(
        store, "agents", **rows.valid("agents", status="failed"), activity="idle", recovered=1
    )
    (agent,) = await store.read(records.all)
    assert agent.as_json() == {
        "id": id_of(0x304),
        "node_id": NODE,
        "task_id": id_of(0x504),
        "step_task_id": None,
        "status": "failed",
        "liveness": "dead",
        "activity": "idle",
        "recovered": True,
        "worktree": "worktrees/4",
        "branch": "coven/4",
        "pid": 4_004,
        "exit_code": 4,
        "error": "daemon restarted",
        "output_file": "output/4.jsonl",
        "line_count": 0,
        "last_seq": 0,
        "created_at": at(4),
        "started_at": at(4),
        "ended_at": at(34),
    }


async def test_agents_are_shown_oldest_first_and_only_to_their_project(store: Store):
    await rows.fill(store, "agents")
    shown = await store.read(records.all)
    assert [agent.id for agent in shown] == [id_of(0x300 + number) for number in range(1, 6)]
    assert await store.of(ProjectId("other")).read(records.all) == []


async def test_an_agent_that_cannot_be_is_refused_by_the_database(store: Store):
    running: rows.Wanted = {"status": "running"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (running, {"pid": None}),
        (running, {"started_at": None}),
        (running, {"pid": 0}),
        (running, {"ended_at": at(3)}),
        (running, {"exit_code": 0}),
        (running, {"status": "paused"}),
        (running, {"liveness": "perhaps"}),
        (running, {"activity": "thinking"}),
        (running, {"recovered": 2}),
        (running, {"last_seq": -1}),
        ({"status": "completed"}, {"ended_at": None}),
    ]
    assert await rows.accepted(store, "agents", changes) == []
    await rows.fill(store, "agents")


async def test_two_live_agents_never_share_a_worktree(store: Store):
    await rows.insert(store, "agents", **rows.valid("agents", status="running"))
    second = rows.valid("agents", status="starting") | {"worktree": "worktrees/2"}
    with pytest.raises(StatementRefused):
        await rows.insert(store, "agents", **second)
    await rows.run(store, f"UPDATE kb.agents SET status = 'killed', ended_at = '{at(9)}'")
    await rows.insert(store, "agents", **second)
