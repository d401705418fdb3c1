"""What the specification promises about workspaces, one line for each promise."""

from tests.spec.requirements.promise import Document, Promise

_document = Document("1-workspace-persistence.md")
_written = _document.written
_implied = _document.implied

PROMISES: tuple[Promise, ...] = (
    # State across agent sessions
    _written(
        "W-01",
        "A workspace's filesystem outlives the agent session that used it; several agents can "
        "work on the same code base one after another.",
    ),
    _written(
        "W-02",
        "A *new file* created by agent A (who then disconnects) is seen by agent B who attaches"
        " later.",
    ),
    _written("W-03", "*Modified content* written by A is seen by B byte for byte."),
    _written("W-04", "A file *deleted* by A is absent for B."),
    _implied(
        "W-05",
        '"All file changes" covers directories, empty directories, mode bits, symlinks, '
        "non-UTF-8 and large (>50 KB) content, hidden files.",
    ),
    _written(
        "W-06",
        "After a finished `npm install`, then stop, then resume, `node_modules` and every "
        "installed dependency is still there.",
    ),
    _implied(
        "W-07",
        "…and usable: `.bin` symlinks, exec bits and a `require()` of the package work after "
        "the resume.",
    ),
    # Attachment
    _written("W-08", "Different agent sessions may attach to the same workspace sequentially."),
    _written("W-09", "Ending A's session detaches it from W (end of session *is* a detach)."),
    _written("W-10", "After A's detach, B's attach request succeeds and gives access to W."),
    _written("W-11", "B finds exactly the filesystem state A left."),
    _written("W-12", "At most one session is attached at any time (never concurrently)."),
    _written("W-13", "While A is attached, B's attach is rejected."),
    _written("W-14", "The rejection is an error saying the workspace is currently in use."),
    _written("W-15", "The rejection identifies the active session (A's id)."),
    _implied("W-16", "The rejection changes nothing: A stays attached, no tool access for B."),
    _implied("W-17", "Two simultaneous attaches to a free workspace: exactly one wins."),
    _implied(
        "W-18",
        "Re-attach by the session already holding it is idempotent (no error, no second audit "
        "record).",
    ),
    _implied(
        "W-19",
        "Only the holder (or an admin with force) can detach; a stranger's detach is refused.",
    ),
    _implied(
        "W-20",
        "A holder that dies without detaching does not block W forever (lease / session-end "
        "detection).",
    ),
    # Snapshots
    _written("W-21", "A snapshot request for a workspace in status `ready` is accepted."),
    _written(
        "W-22",
        "It captures filesystem state at that point in time (later changes do not alter it).",
    ),
    _written("W-23", "It gets a unique snapshot id."),
    _written("W-24", "It is stored in the provider's snapshot storage."),
    _written("W-25", "The response returns the snapshot id."),
    _implied("W-26", "Several snapshots of one workspace coexist and each remains restorable."),
    _implied(
        "W-27",
        "A snapshot request in a wrong status (`creating`, `error`) is refused with a clear error.",
    ),
    _written(
        "W-28",
        "Restore with a valid snapshot id creates a *new* workspace with the snapshot's "
        "filesystem state.",
    ),
    _written("W-29", "The restored workspace has a new workspace id."),
    _written("W-30", "Its status is `ready`."),
    _implied(
        "W-31",
        "Restore leaves the source workspace and the snapshot untouched; the two workspaces "
        "diverge independently (branching).",
    ),
    _implied(
        "W-32",
        "Restore with an unknown id fails with a clear error and leaves nothing behind.",
    ),
    _implied("W-33", "Restore picks the snapshot's own provider without being told."),
    _written(
        "W-34",
        "Firecracker-backed: the snapshot is a copy-on-write clone of the block device behind "
        "the workspace.",
    ),
    _written("W-35", "Firecracker: the reference to that clone is stored."),
    _written(
        "W-36",
        "gVisor-backed: the snapshot is a Docker volume snapshot (a new volume made with "
        "`docker volume create` from the existing one).",
    ),
    _written("W-37", "gVisor: the reference (volume name) is stored."),
    _implied(
        "W-38",
        'A provider that cannot snapshot (E2B) refuses with "does not support snapshots".',
    ),
    # Processes and environment over stop/resume
    _written(
        "W-39",
        "The limits of process state over stop/resume are *documented* (a doc a user can find; "
        "ideally also returned by the API).",
    ),
    _written("W-40", "Stop then resume: the filesystem is preserved."),
    _written(
        "W-41",
        "Background processes (e.g. a dev server) running at stop are *not* running after resume.",
    ),
    _written("W-42", "The agent can (must) start them again itself."),
    _written("W-43", "`.env` / `.bashrc` written before the stop are on disk after the resume."),
    _written("W-44", "They are *not* loaded automatically into new shell sessions."),
    _written("W-45", "They take effect when the tool call explicitly sources them."),
    # Hosted MCP servers
    _written(
        "W-46",
        "The state of MCP server containers is kept across restarts of the main server.",
    ),
    _written(
        "W-47",
        "An MCP server with database files in a mounted volume, stopped and restarted, has "
        "those files and all stored data.",
    ),
    _written(
        "W-48",
        "After a *planned* server restart all registered MCP server configurations in "
        "`kb.agent_workspaces` are preserved.",
    ),
    _written("W-49", "After a *crash* (kill -9) likewise."),
    _written("W-50", "On start the system restarts all persistent MCP servers automatically."),
    _implied(
        "W-51",
        '"All": also ones whose container/process is gone entirely (must be recreated from the '
        "stored config: image, cmd, env, volumes, limits, policy).",
    ),
    _implied(
        "W-52",
        "Rows of MCP servers carry `container_type = 'mcp_server'`, `lifecycle = 'persistent'`,"
        " `expires_at` NULL.",
    ),
    # Metadata
    _written(
        "W-53",
        "Any tool operation on a workspace sets `last_used_at` to the current timestamp in the "
        "database (bash, read, write, edit, glob, grep, git — each).",
    ),
    _implied("W-54", "Failed tool operations count too; non-tool reads (GET status) do not."),
    _written(
        "W-55",
        "When a new agent attaches to an existing workspace `agent_session_id` becomes the new "
        "session's id.",
    ),
    _written(
        "W-56",
        "The attachment event is logged with the *previous* session id (audit trail).",
    ),
    _implied("W-57", "The history is queryable (who, when, from–to), also after many attachments."),
)
