"""Questions as values: frozen, and saying how they look in `/state`.

Answered means that the response is stored, resolved that whoever asked has received it.
Deliberately not here: how questions are kept (`records`) and how an answer is delivered.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from coven.core import clock

QuestionType = Literal["clarification", "permission", "decision", "blocked"]
QuestionStatus = Literal["pending", "answered", "resolved", "expired", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody asks a person, with the answers that are offered, if any."""

    id: str
    task_id: str | None
    agent_id: str | None
    run_id: str | None
    type: QuestionType
    prompt: str
    options: tuple[Any, ...]
    status: QuestionStatus
    response: str | None
    responded_by: str | None
    responded_at: datetime | None
    resolved_at: datetime | None
    created_at: datetime

    def as_json(self) -> dict[str, Any]:
        """What `/state` shows of a question."""
        return {
            "id": self.id,
            "task_id": self.task_id,
            "agent_id": self.agent_id,
            "run_id": self.run_id,
            "type": self.type,
            "prompt": self.prompt,
            "options": list(self.options),
            "status": self.status,
            "response": self.response,
            "responded_by": self.responded_by,
            "responded_at": self.responded_at and clock.render(self.responded_at),
            "resolved_at": self.resolved_at and clock.render(self.resolved_at),
            "created_at": clock.render(self.created_at),
        }
