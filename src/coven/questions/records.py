"""How questions are kept: rows in, values out. Reads only, for `/state`."""

import json
from collections.abc import Mapping
from typing import Any

from coven.core import clock
from coven.questions.model import Question
from coven.store import View, load

queries = load("coven.questions")


def all(view: View) -> list[Question]:
    """Every question of the project, oldest first."""
    return [_question(row) for row in view.all(queries["all"])]


def _question(row: Mapping[str, Any]) -> Question:
    return Question(
        id=row["id"],
        task_id=row["task_id"],
        agent_id=row["agent_id"],
        run_id=row["run_id"],
        type=row["type"],
        prompt=row["prompt"],
        options=tuple(json.loads(row["options"])),
        status=row["status"],
        response=row["response"],
        responded_by=row["responded_by"],
        responded_at=row["responded_at"] and clock.parse(row["responded_at"]),
        resolved_at=row["resolved_at"] and clock.parse(row["resolved_at"]),
        created_at=clock.parse(row["created_at"]),
    )
