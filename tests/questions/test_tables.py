"""The table of the questions: what `/state` shows of it, and what the database never accepts."""

from coven.core.ids import ProjectId
from coven.questions import records
from coven.store import Store
from scripts.upgrade_rows import at, id_of
from tests.upgrades import rows


async def test_a_question_is_shown_with_its_options_and_its_answer(store: Store):
    await rows.insert(store, "questions", **rows.valid("questions", status="resolved"))
    (question,) = await store.read(records.all)
    assert question.as_json() == {
        "id": id_of(0x403),
        "task_id": id_of(0x502),
        "agent_id": id_of(0x302),
        "run_id": None,
        "type": "decision",
        "prompt": "Which one? «a» or “b”",
        "options": ["a", {"label": "b", "value": 2}],
        "status": "resolved",
        "response": "a",
        "responded_by": "user",
        "responded_at": at(40),
        "resolved_at": at(41),
        "created_at": at(3),
    }


async def test_questions_are_shown_oldest_first_and_only_to_their_project(store: Store):
    await rows.fill(store, "questions")
    shown = await store.read(records.all)
    assert [question.id for question in shown] == [id_of(0x400 + number) for number in range(1, 6)]
    assert await store.of(ProjectId("other")).read(records.all) == []


async def test_a_question_that_cannot_be_is_refused_by_the_database(store: Store):
    pending: rows.Wanted = {"status": "pending"}
    answered: rows.Wanted = {"status": "answered"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (pending, {"status": "answered"}),
        (pending, {"response": "a"}),
        (pending, {"responded_by": "user"}),
        (pending, {"status": "forgotten"}),
        (pending, {"type": "riddle"}),
        (pending, {"prompt": ""}),
        (pending, {"options": "not JSON"}),
        (answered, {"response": None}),
        (answered, {"responded_at": None}),
        (answered, {"resolved_at": at(41)}),
        ({"status": "resolved"}, {"resolved_at": None}),
    ]
    assert await rows.accepted(store, "questions", changes) == []
    await rows.fill(store, "questions")
