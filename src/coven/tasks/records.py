"""How tasks and workflows are kept: rows in, values out.

Reads only, for `/state`; the writes come with the verbs. Each function takes the view of a
transaction, so that several of them together give one consistent picture.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from coven.core import clock
from coven.store import View, load
from coven.tasks.model import Task, Workflow

queries = load("coven.tasks")


def tasks(view: View) -> list[Task]:
    """Every task of the project that is not deleted, oldest first."""
    tags: dict[str, list[str]] = defaultdict(list)
    for row in view.all(queries["tags"]):
        tags[row["task_id"]].append(row["tag"])
    return [_task(row, tags.get(row["id"], ())) for row in view.all(queries["tasks"])]


def workflows(view: View) -> list[Workflow]:
    """Every workflow of the project, oldest first."""
    return [_workflow(row) for row in view.all(queries["workflows"])]


def _task(row: Mapping[str, Any], tags: Sequence[str]) -> Task:
    return Task(
        id=row["id"],
        parent_id=row["parent_id"],
        depth=row["depth"],
        title=row["title"],
        body=row["body"],
        type=row["type"],
        status=row["status"],
        priority=row["priority"],
        tags=tuple(tags),
        claimed_by=row["claimed_by"],
        claimed_at=row["claimed_at"] and clock.parse(row["claimed_at"]),
        claim_expires_at=row["claim_expires_at"] and clock.parse(row["claim_expires_at"]),
        grimoire_hint=row["grimoire_hint"],
        created_at=clock.parse(row["created_at"]),
        updated_at=clock.parse(row["updated_at"]),
        closed_at=row["closed_at"] and clock.parse(row["closed_at"]),
    )


def _workflow(row: Mapping[str, Any]) -> Workflow:
    return Workflow(
        id=row["workflow_id"],
        task_id=row["task_id"],
        grimoire_name=row["grimoire_name"],
        current_step=row["current_step"],
        status=row["status"],
        completed_steps=json.loads(row["completed_steps"]),
        step_outputs=json.loads(row["step_outputs"]),
        active_agent_id=row["active_agent_id"],
        error=row["error"],
        blocked_reason=row["blocked_reason"],
        started_at=clock.parse(row["started_at"]),
        updated_at=clock.parse(row["updated_at"]),
        completed_at=row["completed_at"] and clock.parse(row["completed_at"]),
    )
