"""What stands in the old stores of tests/upgrades: fixed rows for every table, by schema number.

The rows of a schema use only the columns that its tables had then, so an entry is never changed
when a later migration adds a column; it gets a new entry under the new number. They cover every
status, texts that are hard to keep (signs of other scripts, quotes, a percent sign) and every
column that may be empty.
"""

from collections.abc import Iterator, Mapping, Sequence

from coven.store import Value

Values = Mapping[str, Value]
Rows = Sequence[tuple[str, Values]]

NODE = "node-1"


def id_of(number: int) -> str:
    """A UUIDv7 that looks made in June 2024; the number says which."""
    return f"019000e0-0000-7000-8000-{number:012x}"


def at(minute: int, *, fraction: int = 0) -> str:
    """A minute of the day on which everything happened."""
    return f"2030-01-31T{minute // 60:02}:{minute % 60:02}:00.{fraction:06}Z"


def up_to(schema: int) -> list[tuple[str, Values]]:
    """Every row that a store of this schema holds, parents before children."""
    return [row for since, row in _every() if since <= schema]


def _every() -> Iterator[tuple[int, tuple[str, Values]]]:
    for since, rows in (
        (1, _events()),
        (2, _runs()),
        (3, _workspaces()),
        (4, _agents()),
        (5, _questions()),
        (6, _notifications()),
        (7, _tokens()),
        (8, _tasks()),
        (9, _resumed_runs()),
        (10, _journal()),
    ):
        for row in rows:
            yield since, row


def _events() -> Iterator[tuple[str, Values]]:
    yield (
        "event_head",
        {"project_id": "default", "epoch": "5eed5eed", "seq": 2, "floor": 0, "last_at": at(2)},
    )
    for seq in (1, 2):
        yield (
            "events",
            {
                "project_id": "default",
                "seq": seq,
                "type": "daemon.recovered",
                "entity": "daemon",
                "entity_id": NODE,
                "timestamp": at(seq),
                "data": "{}",
            },
        )


def _runs() -> Iterator[tuple[str, Values]]:
    statuses = ("completed", "failed", "paused", "cancelled", "skipped", "running", "queued")
    for number, status in enumerate(statuses, start=1):
        ended = status in ("completed", "failed", "cancelled")
        yield (
            "agent_runs",
            {
                "id": id_of(0x100 + number),
                "agent_id": id_of(0x10 + number % 2),
                "status": status,
                "started_at": at(number, fraction=123456),
                "duration_ms": number * 1_000 if ended else None,
                "summary": '{"text": "50 % done: ‘naïve’ 完成 \\"x\\"", "files": [1, 2.5, null]}'
                if ended
                else "{}",
                "skip_reason": "nothing to do" if status == "skipped" else None,
                "created_at": at(number),
            },
        )


def _workspaces() -> Iterator[tuple[str, Values]]:
    statuses = ("creating", "ready", "stopping", "stopped", "resuming", "error", "destroyed")
    for number, status in enumerate(statuses, start=1):
        yield (
            "agent_workspaces",
            {
                "id": id_of(0x200 + number),
                "project_id": "default",
                "node_id": NODE,
                "name": f"workspace {number}" if number % 2 else None,
                "agent_session_id": "agent-7" if status == "ready" else None,
                "generation": 3 if status == "ready" else 0,
                "container_type": "agent_workspace",
                "provider": "local",
                "provider_workspace_id": f"instance-{number}",
                "repository_url": "https://example.org/repository.git",
                "branch": "main",
                "status": status,
                "created_at": at(number),
                "last_used_at": at(number + 60),
                "expires_at": at(number + 120),
                "resource_limits": '{"cpu": "2", "memory": "4G", "disk": "10G"}',
            },
        )
    yield (
        "agent_workspaces",
        {
            "id": id_of(0x210),
            "project_id": "default",
            "node_id": NODE,
            "container_type": "mcp_server",
            "provider": "gvisor",
            "lifecycle": "persistent",
            "status": "ready",
            "created_at": at(8),
            "last_used_at": at(8),
            "mcp_config": '{"name": "notes", "command": ["notes"], "restart_policy": "always"}',
        },
    )


def _agents() -> Iterator[tuple[str, Values]]:
    statuses = ("starting", "running", "completed", "failed", "killed")
    for number, status in enumerate(statuses, start=1):
        ended = status not in ("starting", "running")
        yield (
            "agents",
            {
                "id": id_of(0x300 + number),
                "project_id": "default",
                "node_id": NODE,
                "task_id": id_of(0x500 + number),
                "status": status,
                "liveness": "dead" if ended else "unknown",
                "worktree": f"worktrees/{number}",
                "branch": f"coven/{number}",
                "pid": None if status == "starting" else 4_000 + number,
                "exit_code": number if status == "failed" else None,
                "error": "daemon restarted" if status == "failed" else None,
                "output_file": f"output/{number}.jsonl",
                "created_at": at(number),
                "started_at": None if status == "starting" else at(number),
                "ended_at": at(number + 30) if ended else None,
            },
        )


def _questions() -> Iterator[tuple[str, Values]]:
    statuses = ("pending", "answered", "resolved", "expired", "cancelled")
    for number, status in enumerate(statuses, start=1):
        answered = status in ("answered", "resolved")
        yield (
            "questions",
            {
                "id": id_of(0x400 + number),
                "project_id": "default",
                "task_id": id_of(0x502),
                "agent_id": id_of(0x302),
                "type": "decision",
                "prompt": "Which one? «a» or “b”",
                "options": '["a", {"label": "b", "value": 2}]',
                "status": status,
                "response": "a" if answered else None,
                "responded_by": "user" if answered else None,
                "responded_at": at(40) if answered else None,
                "resolved_at": at(41) if status == "resolved" else None,
                "created_at": at(number),
            },
        )


def _notifications() -> Iterator[tuple[str, Values]]:
    for number, read_at in ((1, None), (2, at(30))):
        yield (
            "notifications",
            {
                "project_id": "default",
                "id": id_of(0x600 + number),
                "kind": "agent.failed",
                "title": f"Agent {number} failed",
                "created_at": at(number),
                "read_at": read_at,
            },
        )


def _tokens() -> Iterator[tuple[str, Values]]:
    yield (
        "tokens",
        {
            "project_id": "default",
            "id": id_of(0x700),
            "name": "laptop",
            "scope": "read",
            "hash": "0" * 64,  # of no text that anybody has
            "created_at": at(1),
            "created_by": "user",
        },
    )


def _tasks() -> Iterator[tuple[str, Values]]:
    statuses = ("open", "in_progress", "pending_merge", "blocked", "closed")
    for number, status in enumerate(statuses, start=1):
        claimed = status in ("in_progress", "pending_merge")
        yield (
            "tasks",
            {
                "id": id_of(0x500 + number),
                "project_id": "default",
                "parent_id": id_of(0x501) if number > 1 else None,
                "depth": 1 if number > 1 else 0,
                "title": f"Task {number}",
                "body": "100 % «done»\nwith a second line",
                "type": "bug" if number == 2 else "task",
                "status": status,
                "priority": number - 1,
                "claimed_by": "agent-7" if claimed else None,
                "claimed_at": at(10) if claimed else None,
                "claim_expires_at": at(40) if claimed else None,
                "fence": 1 if claimed else 0,
                "created_at": at(number),
                "updated_at": at(number + 30),
                "closed_at": at(number + 30) if status == "closed" else None,
            },
        )
    yield from _under_tasks()


def _under_tasks() -> Iterator[tuple[str, Values]]:
    common: Values = {"project_id": "default"}
    yield "tags", {**common, "task_id": id_of(0x501), "tag": "grimoire:Ünïcode"}
    for number in (2, 3, 4, 5):
        child = {"parent_id": id_of(0x501), "child_id": id_of(0x500 + number)}
        yield "children", {**common, **child}
    yield (
        "task_history",
        {
            **common,
            "id": id_of(0x510),
            "task_id": id_of(0x502),
            "field": "status",
            "old_value": "open",
            "new_value": "in_progress",
            "changed_at": at(10),
            "changed_by": "agent-7",
        },
    )
    yield (
        "workflows",
        {
            **common,
            "task_id": id_of(0x502),
            "workflow_id": id_of(0x520),
            "grimoire_name": "implement",
            "current_step": 1,
            "status": "running",
            "completed_steps": '{"plan": {"success": true}}',
            "active_agent_id": id_of(0x302),
            "started_at": at(10),
            "updated_at": at(11),
        },
    )
    yield "task_questions", {**common, "task_id": id_of(0x502), "question_id": id_of(0x401)}


def _resumed_runs() -> Iterator[tuple[str, Values]]:
    yield (
        "agent_runs",
        {
            "id": id_of(0x120),
            "project_id": "default",
            "node_id": NODE,
            "agent_id": id_of(0x10),
            "status": "failed",
            "parent_run_id": id_of(0x101),
            "resumed_from": id_of(0x103),
            "step_count": 46,
            "max_steps": 50,
            "error_message": "the model was not there",
            "started_at": at(50),
            "completed_at": at(51),
            "duration_ms": 60_000,
            "created_at": at(50),
        },
    )


def _journal() -> Iterator[tuple[str, Values]]:
    common: Values = {"project_id": "default", "run_id": id_of(0x120)}
    for seq, role in enumerate(("system", "user", "assistant", "tool_result")):
        yield (
            "agent_run_messages",
            {
                **common,
                "id": id_of(0x130 + seq),
                "seq": seq,
                "step_number": 46,
                "role": role,
                "content": f'{{"text": "{role} says “hello”"}}',
                "raw": b'{"z":1,"a":"\\u0000"}' if role == "assistant" else None,
                "raw_format": "anthropic.message" if role == "assistant" else None,
                "created_at": at(50, fraction=seq),
            },
        )
    for number, status in enumerate(("planned", "started", "completed", "error", "unknown")):
        ended = status in ("completed", "error")
        yield (
            "agent_run_tool_calls",
            {
                **common,
                "id": id_of(0x140 + number),
                "message_id": id_of(0x132),
                "tool_name": "bash",
                "input": '{"command": "true"}',
                "output": '{"exit_code": 0}' if ended else None,
                "status": status,
                "duration_ms": 12 if ended else None,
                "step_number": 46,
                "created_at": at(50, fraction=100 + number),
            },
        )
