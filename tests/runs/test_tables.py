"""The tables of the runs: what the database never accepts, and what goes with a run."""

import pytest

from coven.store import Store
from coven.store.engine import StatementRefused
from scripts.upgrade_rows import id_of
from tests.upgrades import rows


async def test_a_paused_run_is_resumed_once(store: Store):
    await rows.fill(store, "agent_runs")
    again = rows.valid("agent_runs", resumed_from=id_of(0x103)) | {"id": id_of(0x121)}
    with pytest.raises(StatementRefused):
        await rows.insert(store, "agent_runs", **again)
    await rows.insert(store, "agent_runs", **{**again, "resumed_from": None})


async def test_a_run_that_cannot_be_is_refused_by_the_database(store: Store):
    resumed: rows.Wanted = {"id": id_of(0x120)}
    alone: rows.Wanted = {"parent_run_id": None, "resumed_from": None}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (resumed, alone | {"parent_run_id": id_of(0x120)}),
        (resumed, alone | {"resumed_from": id_of(0x120)}),
        (resumed, alone | {"parent_run_id": id_of(0x999)}),
        (resumed, alone | {"step_count": -1}),
        (resumed, alone | {"max_steps": 0}),
        (resumed, alone | {"duration_ms": -1}),
        (resumed, alone | {"status": "interrupted"}),
        (resumed, alone | {"summary": "done"}),
    ]
    assert await rows.accepted(store, "agent_runs", changes) == []
    await rows.fill(store, "agent_runs")


async def test_a_message_that_cannot_be_is_refused_by_the_database(store: Store):
    await rows.fill(store, "agent_runs")
    said: rows.Wanted = {"role": "user"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (said, {"raw_format": "anthropic.message"}),
        (said, {"role": "tool"}),
        (said, {"seq": -1}),
        (said, {"content": "hello"}),
        (said, {"run_id": id_of(0x999)}),
        ({"role": "assistant"}, {"raw": None}),
    ]
    assert await rows.accepted(store, "agent_run_messages", changes) == []
    await rows.fill(store, "agent_run_messages")


async def test_a_tool_call_that_cannot_be_is_refused_by_the_database(store: Store):
    await rows.fill(store, "agent_runs", "agent_run_messages")
    started: rows.Wanted = {"status": "started"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (started, {"output": "{}"}),
        (started, {"duration_ms": 1}),
        (started, {"tool_name": ""}),
        (started, {"tool_name": "x" * 256}),
        (started, {"message_id": id_of(0x999)}),
        ({"status": "completed"}, {"output": None}),
        ({"status": "error"}, {"status": "unknown"}),
    ]
    assert await rows.accepted(store, "agent_run_tool_calls", changes) == []
    await rows.fill(store, "agent_run_tool_calls")


async def test_two_messages_of_a_run_never_have_one_number(store: Store):
    await rows.fill(store, "agent_runs", "agent_run_messages")
    again = rows.valid("agent_run_messages", role="user") | {"id": id_of(0x999), "step_number": 47}
    with pytest.raises(StatementRefused):
        await rows.insert(store, "agent_run_messages", **again)


async def test_the_journal_of_a_run_goes_with_it(store: Store):
    await rows.fill(store, "agent_runs", "agent_run_messages", "agent_run_tool_calls")
    await rows.run(store, f"DELETE FROM kb.agent_runs WHERE id = '{id_of(0x120)}'")
    again = rows.valid("agent_runs", id=id_of(0x120))
    await rows.insert(store, "agent_runs", **again)
    # None of the old rows is in the way of rows with the same ids.
    await rows.fill(store, "agent_run_messages", "agent_run_tool_calls")
    assert await store.check() == []
