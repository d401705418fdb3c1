"""Agents as values: frozen, and saying how they look in `/state`.

Status says how the work stands, liveness what was last seen of the process, activity what it was
last seen doing: an agent whose process cannot be found out about stays `running` and `unknown`.
Deliberately not here: how agents are kept (`records`), and the identity of their processes.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from coven.core import clock
from coven.core.ids import NodeId

AgentStatus = Literal["starting", "running", "completed", "failed", "killed"]
Liveness = Literal["alive", "dead", "unknown"]
Activity = Literal["busy", "waiting_input", "idle", "parked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent that runs, or ran, as a process for a task."""

    id: str
    node_id: NodeId
    task_id: str
    step_task_id: str | None
    status: AgentStatus
    liveness: Liveness
    activity: Activity | None
    is_recovered: bool
    worktree: str | None
    branch: str | None
    pid: int | None
    exit_code: int | None
    error: str | None
    output_file: str | None
    line_count: int
    last_seq: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """What `/state` shows of an agent."""
        return {
            "id": self.id,
            "node_id": self.node_id,
            "task_id": self.task_id,
            "step_task_id": self.step_task_id,
            "status": self.status,
            "liveness": self.liveness,
            "activity": self.activity,
            "recovered": self.is_recovered,
            "worktree": self.worktree,
            "branch": self.branch,
            "pid": self.pid,
            "exit_code": self.exit_code,
            "error": self.error,
            "output_file": self.output_file,
            "line_count": self.line_count,
            "last_seq": self.last_seq,
            "created_at": clock.render(self.created_at),
            "started_at": self.started_at and clock.render(self.started_at),
            "ended_at": self.ended_at and clock.render(self.ended_at),
        }
