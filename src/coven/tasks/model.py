"""Tasks and workflows as values: frozen, and saying how they look in `/state`.

Deliberately not here: how they are kept (`records`) and which transitions are allowed, which comes
with the verbs that make them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from coven.core import clock

TaskType = Literal["task", "feature", "bug"]
TaskStatus = Literal["open", "in_progress", "pending_merge", "blocked", "closed"]
WorkflowStatus = Literal["running", "pending_merge", "blocked", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A unit of work in a tree. Priority 0 is the most urgent, 4 the least."""

    id: str
    parent_id: str | None
    depth: int
    title: str
    body: str
    type: TaskType
    status: TaskStatus
    priority: int
    tags: tuple[str, ...]
    claimed_by: str | None
    claimed_at: datetime | None
    claim_expires_at: datetime | None
    grimoire_hint: str | None
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """What `/state` shows of a task."""
        return {
            "id": self.id,
            "parent_id": self.parent_id,
            "depth": self.depth,
            "title": self.title,
            "body": self.body,
            "type": self.type,
            "status": self.status,
            "priority": self.priority,
            "tags": list(self.tags),
            "claimed_by": self.claimed_by,
            "claimed_at": self.claimed_at and clock.render(self.claimed_at),
            "claim_expires_at": self.claim_expires_at and clock.render(self.claim_expires_at),
            "grimoire_hint": self.grimoire_hint,
            "created_at": clock.render(self.created_at),
            "updated_at": clock.render(self.updated_at),
            "closed_at": self.closed_at and clock.render(self.closed_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The execution of a workflow definition for a task: at most one for each, the latest."""

    id: str
    task_id: str
    grimoire_name: str
    current_step: int
    status: WorkflowStatus
    completed_steps: dict[str, Any]
    step_outputs: dict[str, Any]
    active_agent_id: str | None
    error: str | None
    blocked_reason: str | None
    started_at: datetime
    updated_at: datetime
    completed_at: datetime | None

    def as_json(self) -> dict[str, Any]:
        """What `/state` shows of a workflow."""
        return {
            "id": self.id,
            "task_id": self.task_id,
            "grimoire_name": self.grimoire_name,
            "current_step": self.current_step,
            "status": self.status,
            "completed_steps": self.completed_steps,
            "step_outputs": self.step_outputs,
            "active_agent_id": self.active_agent_id,
            "error": self.error,
            "blocked_reason": self.blocked_reason,
            "started_at": clock.render(self.started_at),
            "updated_at": clock.render(self.updated_at),
            "completed_at": self.completed_at and clock.render(self.completed_at),
        }
