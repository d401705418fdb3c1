"""What the specification promises about the unified store, one line for each promise."""

from tests.spec.requirements.promise import Document, Promise

_document = Document("4-unified-daemon-store.md")
_written = _document.written
_implied = _document.implied

PROMISES: tuple[Promise, ...] = (
    # State access
    _written("U-01", "`getState()` reads from the unified store (not from a memory copy)."),
    _written("U-02", "The snapshot includes tasks, agents, workflows, questions."),
    _written("U-03", "It is consistent: one single read transaction."),
    _written(
        "U-04",
        "All state lives in `.coven/coven.db`, one database; nothing is written any more to "
        "`.coven/state.json`, `.coven/workflows/*.json`, `.coven/familiars/*.json`.",
    ),
    # Configuration
    _written(
        "U-05",
        "When a session starts `.coven/config.json` includes `store` with `eventRetentionHours:"
        " 24`, `taskRetentionDays: 30`, `taskSoftDeleteDays: 7`, `workflowRetentionDays: 7`, "
        "`claimTimeoutMinutes: 30`.",
    ),
    _written("U-06", "Missing keys take the defaults."),
    _implied(
        "U-07",
        "Existing other keys of the file survive; invalid values fall back to defaults with a "
        "warning (base spec).",
    ),
    # Orphan recovery on daemon restart (agent record status `running`)
    _written(
        "U-08",
        "Valid PID, process alive and a claude process → daemon reconnects to the agent's "
        "output file and *appends* new output.",
    ),
    _written("U-09", "…agent status stays `running`."),
    _written("U-10", "…monitoring resumes (its later exit is noticed)."),
    _written(
        "U-11",
        'Process gone + uncommitted changes in worktree → agent `failed`, error exactly "daemon'
        ' restarted with uncommitted work".',
    ),
    _written("U-12", "…its task is blocked."),
    _written("U-13", "…the user is notified."),
    _written("U-14", "Process gone + commits not merged to main → task status `pending_merge`."),
    _written("U-15", "…the user can review and approve."),
    _written(
        "U-16",
        "Record `completed` or `failed` → nothing to recover; state is already consistent "
        "(unchanged).",
    ),
    _implied(
        "U-17",
        "Process gone, clean worktree, no unmerged commits → agent must not stay `running` "
        "(decided in `../design/DECISIONS.md`).",
    ),
    _implied(
        "U-18",
        "Both uncommitted changes and unmerged commits → the uncommitted case wins (nothing may"
        " be lost).",
    ),
    # Process tracking
    _written(
        "U-19",
        "On spawn, `{ task_id, pid, status, worktree, output_file }` is in the store.",
    ),
    _written("U-20", "It is persisted immediately (survives kill -9 right after spawn)."),
    _written("U-21", 'Before reconnecting: process exists AND its command contains "claude".'),
    _written("U-22", "Only verified processes are reconnected."),
    _written("U-23", "Verification failure marks the agent `failed`."),
    # Events
    _written("U-24", "Events are persisted to the `events` bucket."),
    _written("U-25", "Retained for a configurable period, default 24 h."),
    _written("U-26", "After an SSE drop the client asks `GET /events?since={lastEventTimestamp}`."),
    _written("U-27", "The missed events are returned."),
    _written("U-28", "The client's cache is updated from them."),
    _written("U-29", "Its UI shows the right state."),
    _implied(
        "U-30",
        "Stored before being broadcast (design), so no event is broadcast that a replay lacks; "
        "order preserved; none missing or doubled.",
    ),
    # Initialization
    _written(
        "U-31",
        "Daemon start without `.coven/coven.db` creates it with all required buckets.",
    ),
    _written("U-32", "The schema version is recorded in the `meta` bucket."),
    _written(
        "U-33",
        'Existing `.coven/state.json` / `.coven/workflows/*.json` at start → prompt "Run `coven'
        ' migrate` to migrate existing state".',
    ),
    _written("U-34", "The daemon can optionally start fresh without migrating."),
    _implied(
        "U-35",
        "`coven migrate` exists and moves that state (agents, workflows, questions) into the "
        "store, idempotently, keeping a backup.",
    ),
    _written(
        "U-36",
        'Another process holding the database → the daemon fails with "Database locked by '
        'another process".',
    ),
    _written("U-37", "File locking prevents corruption (kernel lock, released by a crash)."),
    # Cross-entity transactions
    _written(
        "U-38",
        "Claim: in one transaction task → `in_progress` with `claimed_by`; agent record created"
        " `starting`; workflow record created at step 0.",
    ),
    _written("U-39", "Any failing part rolls all back."),
    _written(
        "U-40",
        "Completion: in one transaction workflow → `completed`, task → `closed`, agent → "
        "`completed`.",
    ),
    _written("U-41", "All or none visible to any reader at any moment, incl. after a crash."),
    _implied("U-42", "Two claimers of one task: exactly one wins."),
    # Retention
    _written("U-43", "Cleanup runs at daemon start and every hour."),
    _written("U-44", "Tasks closed > 30 days → soft delete."),
    _written("U-45", "Soft-deleted > 7 days → hard delete."),
    _written("U-46", "Agents are deleted with their task."),
    _written("U-47", "Output files are deleted with the agent."),
    _written("U-48", "Workflows completed > 7 days → deleted."),
    _written("U-49", "Questions are deleted with the agent."),
    _written("U-50", "Events older than 24 h → deleted."),
    _written("U-51", "Values in `.coven/config.json` replace the defaults."),
    _implied(
        "U-52",
        "`claimTimeoutMinutes` (30): claims older than that, with no live agent, are released "
        "(status → `open`); on startup and every 5 minutes (task-management delta).",
    ),
)
