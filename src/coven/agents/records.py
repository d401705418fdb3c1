"""How agents are kept: rows in, values out. Reads only, for `/state`."""

from collections.abc import Mapping
from typing import Any

from coven.agents.model import Agent
from coven.core import clock
from coven.store import View, load

queries = load("coven.agents")


def all(view: View) -> list[Agent]:
    """Every agent of the project, oldest first."""
    return [_agent(row) for row in view.all(queries["all"])]


def _agent(row: Mapping[str, Any]) -> Agent:
    return Agent(
        id=row["id"],
        node_id=row["node_id"],
        task_id=row["task_id"],
        step_task_id=row["step_task_id"],
        status=row["status"],
        liveness=row["liveness"],
        activity=row["activity"],
        is_recovered=bool(row["recovered"]),
        worktree=row["worktree"],
        branch=row["branch"],
        pid=row["pid"],
        exit_code=row["exit_code"],
        error=row["error"],
        output_file=row["output_file"],
        line_count=row["line_count"],
        last_seq=row["last_seq"],
        created_at=clock.parse(row["created_at"]),
        started_at=row["started_at"] and clock.parse(row["started_at"]),
        ended_at=row["ended_at"] and clock.parse(row["ended_at"]),
    )
