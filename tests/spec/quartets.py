"""Four rows in four tables by one transaction, and the event that tells of them.

No door writes tasks, agents, workflows and questions together yet, so the tests of `/state` write
them through the store of a running daemon and look at them through its doors.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from coven.core import clock, ids
from coven.store import Event, Transaction
from coven.store.statements import parse

_statements = parse(
    """
-- name: tasks
-- A task that nobody has claimed.
INSERT INTO kb.tasks (id, project_id, title, created_at, updated_at)
VALUES (:id, :project, :title, :at, :now);

-- name: agents
-- An agent that is about to work on it.
INSERT INTO kb.agents (id, project_id, node_id, task_id, status, created_at)
VALUES (:id, :project, :node, :task, 'starting', :at);

-- name: workflows
-- The workflow of the task.
INSERT INTO kb.workflows
  (task_id, workflow_id, project_id, grimoire_name, status, started_at, updated_at)
VALUES (:task, :id, :project, 'spec', 'running', :at, :now);

-- name: questions
-- A question about the task.
INSERT INTO kb.questions (id, project_id, task_id, type, prompt, created_at)
VALUES (:id, :project, :task, 'decision', 'Shall it be so?', :at);
""",
    source=__name__,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQuartered(Event):
    """A task came into being together with all that hangs on it."""

    type: ClassVar[str] = "task.quartered"


def add(tx: Transaction, title: str) -> str:
    """One of each; the id of the task."""
    task, at = ids.new(), clock.render(tx.now)
    tx.run(_statements["tasks"], id=task, title=title, at=at, now=at)
    tx.run(_statements["agents"], id=ids.new(), node=ids.new(), task=task, at=at)
    tx.run(_statements["workflows"], id=ids.new(), task=task, at=at, now=at)
    tx.run(_statements["questions"], id=ids.new(), task=task, at=at)
    tx.emit(TaskQuartered(entity_id=task))
    return task


def tasks_of(state: Any) -> dict[str, set[str]]:
    """The tasks that each of the four lists of a state knows about."""
    return {
        "tasks": {row["id"] for row in state["tasks"]},
        **{name: {row["task_id"] for row in state[name]} for name in _HANGING},
    }


_HANGING = ("agents", "workflows", "questions")
