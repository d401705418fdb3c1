"""What the specification promises about the record of runs, one line for each promise."""

from tests.spec.requirements.promise import Document, Promise

_document = Document("3-agent-run-state.md")
_written = _document.written
_implied = _document.implied

PROMISES: tuple[Promise, ...] = (
    # Messages
    _written("R-01", "Every LLM message of a run is stored in `kb.agent_run_messages`."),
    _written("R-02", "Roles covered: `system`, `user`, `assistant`, `tool_result`."),
    _written(
        "R-03",
        "Record fields: `run_id`, `role`, `content` (JSON), `step_number`, `created_at` (plus id).",
    ),
    _written(
        "R-04",
        "Stored *during* execution, not after completion (a crash loses at most the message in "
        "flight).",
    ),
    _written(
        "R-05",
        "An assistant message with tool calls keeps the complete structure: tool-call ids, "
        "function names, arguments.",
    ),
    _written("R-06", "The format is sufficient to rebuild the full conversation for resumption."),
    # Tool calls
    _written("R-07", "Every tool invocation is stored in `kb.agent_run_tool_calls`."),
    _written(
        "R-08",
        "Success record: `run_id`, `message_id`, `tool_name`, `input`, `output`, "
        '`status="completed"`, `duration`, `step_number`, `created_at`.',
    ),
    _written("R-09", "`message_id` links to the assistant message that triggered the call."),
    _written("R-10", 'Failure: `status="error"`.'),
    _written("R-11", "Failure: `output` contains the error details."),
    _written("R-12", "`duration` is the wall-clock time of the tool execution, without LLM time."),
    _implied(
        "R-13",
        "Several tool calls in one assistant message give one record each, all with the same "
        "`message_id` and step.",
    ),
    # Resumption
    _written(
        "R-14",
        "`spawn_agents` with `resume_run_id` pointing at a run with `status: paused` resumes it.",
    ),
    _written("R-15", "All messages of that run are loaded ordered by `step_number`."),
    _written("R-16", "The conversation is rebuilt exactly as before the pause."),
    _written("R-17", "A new user message telling the agent to continue is appended."),
    _written("R-18", "The new run has `resumed_from` = the original run's id."),
    _written("R-19", "A paused run with `step_count: 45` resumes at step 46."),
    _written("R-20", "`step_count` is the cumulative total over all resumes."),
    _written("R-21", "`max_steps: 50` gives 50 *new* steps for this resume."),
    _written("R-22", "The cumulative counter goes on incrementing meanwhile."),
    _written("R-23", "At cumulative `MaxTotalStepsPerRun` = 500 the system refuses to resume."),
    _written("R-24", "The refusal is an error saying the maximum total steps have been exceeded."),
    _implied("R-25", "A resumed run also *stops* at 500 even if its own budget is not used up."),
    _written(
        "R-26",
        "`resume_run_id` pointing at a `completed` or `failed` run is an error: only paused "
        "runs can be resumed.",
    ),
    _implied(
        "R-27",
        "Same for `running`, `cancelled`, unknown id; a resume chain of length >1 keeps the "
        "whole history.",
    ),
    _implied("R-28", "The same paused run cannot be resumed twice at once (one winner)."),
    # History API (progressive disclosure, cursor-based)
    _written("R-29", "`GET /api/projects/:id/agent-runs`: paginated list."),
    _written("R-30", "Cursor-based, not offset-based (stable while runs are being inserted)."),
    _written("R-31", "Filter `status`."),
    _written("R-32", "Filter `agent_id`."),
    _written("R-33", "Filter `parent_run_id`."),
    _written(
        "R-34",
        "Each list record has `id`, `agent_id`, `status`, `step_count`, `duration`, "
        "`created_at`, `completed_at`.",
    ),
    _written(
        "R-35",
        "`GET …/agent-runs/:runId`: full record incl. `summary`, `error_message`, `max_steps`, "
        "`parent_run_id`, `resumed_from`.",
    ),
    _written("R-36", "`GET …/:runId/messages`: cursor pagination."),
    _written("R-37", "…ordered by `step_number` ascending."),
    _written("R-38", "`GET …/messages/:msgId`: one message with complete content."),
    _written("R-39", "`GET …/:runId/tool-calls`: cursor pagination."),
    _written("R-40", "Filter `tool_name`."),
    _written("R-41", "Filter `status`."),
    _written("R-42", "…ordered by `step_number` ascending."),
    _written("R-43", "`GET …/tool-calls/:callId`: complete input and output."),
    _implied(
        "R-44",
        "Lists are light (message content truncated, tool input/output omitted); details are "
        'full: that is what "progressive disclosure" means.',
    ),
    _implied(
        "R-45",
        "A run of another project, or a message/call of another run, is 404; a malformed cursor"
        " is 400.",
    ),
    # Schema
    _written(
        "R-46",
        "After migration `kb.agent_runs` has `parent_run_id` (UUID FK), `step_count` (INT "
        "DEFAULT 0), `max_steps` (INT), `resumed_from` (UUID FK), `error_message` (TEXT), "
        "`completed_at` (TIMESTAMPTZ); all nullable or defaulted.",
    ),
    _written("R-47", "Existing rows are unaffected by the migration."),
    _written("R-48", "A spawned sub-agent's run has `parent_run_id` = the parent's run id."),
    _written("R-49", "Querying by `parent_run_id` returns all child runs."),
)
