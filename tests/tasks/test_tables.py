"""The tables of the tasks: what `/state` shows of them, and what the database never accepts."""

import pytest

from coven.core.ids import ProjectId
from coven.store import Store
from coven.store.engine import StatementRefused
from coven.tasks import records
from scripts.upgrade_rows import at, id_of
from tests.upgrades import rows

EVERYTHING = (
    *("agents", "questions", "tasks", "tags", "children", "task_history", "workflows"),
    "task_questions",
)


async def test_a_task_is_shown_with_its_tags_and_its_times(store: Store):
    await rows.insert(store, "tasks", **rows.valid("tasks", status="open"))
    for tag in ("b", "a", "Z"):
        await rows.insert(store, "tags", project_id="default", task_id=id_of(0x501), tag=tag)
    (task,) = await store.read(records.tasks)
    assert task.as_json() == {
        "id": id_of(0x501),
        "parent_id": None,
        "depth": 0,
        "title": "Task 1",
        "body": "100 % «done»\nwith a second line",
        "type": "task",
        "status": "open",
        "priority": 0,
        "tags": ["Z", "a", "b"],
        "claimed_by": None,
        "claimed_at": None,
        "claim_expires_at": None,
        "grimoire_hint": None,
        "created_at": at(1),
        "updated_at": at(31),
        "closed_at": None,
    }


async def test_tasks_are_shown_oldest_first_without_the_deleted_ones(store: Store):
    await rows.fill(store, *EVERYTHING)
    deleted = {"deleted_at": at(100), "id": id_of(0x5FF)}
    await rows.insert(store, "tasks", **{**rows.valid("tasks", status="open"), **deleted})
    shown = await store.read(records.tasks)
    assert [task.id for task in shown] == [id_of(0x500 + number) for number in range(1, 6)]


async def test_a_workflow_is_shown_with_its_steps_as_json(store: Store):
    await rows.fill(store, *EVERYTHING)
    (workflow,) = await store.read(records.workflows)
    assert workflow.as_json() == {
        "id": id_of(0x520),
        "task_id": id_of(0x502),
        "grimoire_name": "implement",
        "current_step": 1,
        "status": "running",
        "completed_steps": {"plan": {"success": True}},
        "step_outputs": {},
        "active_agent_id": id_of(0x302),
        "error": None,
        "blocked_reason": None,
        "started_at": at(10),
        "updated_at": at(11),
        "completed_at": None,
    }


async def test_another_project_sees_none_of_it(store: Store):
    await rows.fill(store, *EVERYTHING)
    other = store.of(ProjectId("other"))
    assert await other.read(records.tasks) == []
    assert await other.read(records.workflows) == []


async def test_a_task_that_cannot_be_is_refused_by_the_database(store: Store):
    root: rows.Wanted = {"status": "open"}
    claim: rows.Wanted = {"claimed_by": "a", "claimed_at": at(1), "claim_expires_at": at(2)}
    alone: rows.Wanted = {"parent_id": None, "depth": 0}
    working: rows.Wanted = {"status": "in_progress"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (root, claim),
        (root, {"closed_at": at(2)}),
        (root, {"status": "idle"}),
        (root, {"type": "epic"}),
        (root, {"priority": 5}),
        (root, {"title": ""}),
        (root, {"depth": 1}),
        (root, {"parent_id": id_of(0x501), "depth": 1}),
        (working, alone | dict.fromkeys(claim)),
        (working, alone | {"claimed_at": None}),
        (working, alone | {"claim_expires_at": None}),
        (working, alone | {"deleted_at": at(2)}),
        ({"status": "closed"}, alone | {"closed_at": None}),
    ]
    assert await rows.accepted(store, "tasks", changes) == []
    await rows.insert(store, "tasks", **rows.valid("tasks", **working) | alone)


async def test_a_workflow_that_cannot_be_is_refused_by_the_database(store: Store):
    await rows.fill(store, "agents", "tasks")
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        ({}, {"status": "blocked"}),
        ({}, {"status": "completed"}),
        ({}, {"completed_at": at(12)}),
        ({}, {"status": "idle"}),
        ({}, {"current_step": -1}),
        ({}, {"active_agent_id": id_of(0x999)}),
        ({}, {"task_id": id_of(0x999)}),
    ]
    assert await rows.accepted(store, "workflows", changes) == []
    await rows.fill(store, "workflows")


async def test_a_task_has_at_most_one_workflow(store: Store):
    await rows.fill(store, *EVERYTHING)
    with pytest.raises(StatementRefused):
        await rows.insert(
            store, "workflows", **{**rows.valid("workflows"), "workflow_id": id_of(0x521)}
        )


async def test_a_child_is_listed_under_its_own_parent_and_moves_with_it(store: Store):
    await rows.fill(store, "tasks")
    with pytest.raises(StatementRefused):
        await rows.insert(
            store, "children", project_id="default", parent_id=id_of(0x502), child_id=id_of(0x503)
        )
    await rows.fill(store, "children")
    await rows.run(
        store,
        f"UPDATE kb.tasks SET parent_id = '{id_of(0x502)}', depth = 2 WHERE id = '{id_of(0x503)}'",
    )
    await rows.run(store, f"DELETE FROM kb.tasks WHERE id = '{id_of(0x503)}'")
    left = await store.read(records.tasks)
    assert [task.id for task in left] == [id_of(number) for number in (0x501, 0x502, 0x504, 0x505)]
    assert await store.check() == []


async def test_a_parent_does_not_go_before_its_children(store: Store):
    await rows.fill(store, "tasks", "children")
    with pytest.raises(StatementRefused):
        await rows.run(store, f"DELETE FROM kb.tasks WHERE id = '{id_of(0x501)}'")


async def test_what_hangs_on_tasks_goes_with_them_and_nothing_else_does(store: Store):
    await rows.fill(store, *EVERYTHING)
    await rows.run(store, "DELETE FROM kb.tasks")
    assert await store.read(records.workflows) == []
    await rows.run(store, "DELETE FROM kb.questions")
    await rows.run(store, "DELETE FROM kb.agents")
    assert await store.check() == []
