"""What the specification promises about isolated team sessions, one line for each promise."""

from tests.spec.requirements.promise import Document, Promise

_document = Document("5-isolated-session-workspaces.md")
_written = _document.written
_implied = _document.implied

PROMISES: tuple[Promise, ...] = (
    _written("I-01", "Isolated mode, session UUID u: directory `sessions/u/` is created."),
    _written("I-02", "It contains `unit/`, `workflows/`, `logs/`."),
    _written("I-03", "A `.session` metadata file is in it."),
    _written("I-04", "A `config.json` with the session configuration is in it."),
    _written(
        "I-05",
        "All unit directories 00, 10–13, 20–23, 30–33 (13) are copied from `unit/` to "
        "`sessions/u/unit/`.",
    ),
    _written("I-06", "All workflow files are copied from `workflows/` to `sessions/u/workflows/`."),
    _written(
        "I-07",
        "The copies are writable by the session (even when the templates are read-only).",
    ),
    _implied(
        "I-08",
        "They are real copies: changing one session's copy changes neither the template nor "
        "another session.",
    ),
    _written("I-09", "`.session` is shell-compatible `KEY=value` (a POSIX shell can source it)."),
    _written("I-10", "`SESSION_ID` = full UUID."),
    _written("I-11", "`TMUX_SESSION` = tmux session name."),
    _written("I-12", "`STATUS` ∈ {active, stopped, error}."),
    _written("I-13", "`CREATED_AT` ISO-8601."),
    _written("I-14", "`UNIT_DIR` = absolute path of the session's unit directory."),
    _written("I-15", "`WORKFLOWS_DIR` = absolute path of the session's workflows directory."),
    _written(
        "I-16",
        'Each agent\'s working directory is its session-specific unit directory: agent "00" → '
        "`sessions/u/unit/00/`.",
    ),
    _written("I-17", "Files an agent creates land in that directory."),
    _written("I-18", "The agent has no write access to the template directories."),
    _written(
        "I-19",
        "Isolated mode: tmux session name is `mas-` + first 8 characters of the UUID "
        "(`mas-550e8400`).",
    ),
    _written("I-20", "That name is stored in `TMUX_SESSION`."),
    _written("I-21", "Legacy mode: name is `mas-tmux` or `mas-{project-name}`."),
    _written("I-22", "Legacy: no UUID prefix is added."),
    _written("I-23", "Unit directory in isolated mode resolves to `sessions/u/unit/`."),
    _written("I-24", "In legacy mode it resolves to the default `unit/` in the MAS root."),
    _implied(
        "I-25",
        "Mode comes from `MAS_SESSION_MODE` (`legacy` default, `isolated`); API field "
        "`sessionMode` overrides per request.",
    ),
    _implied("I-26", "Several isolated sessions run at the same time without interference."),
    _implied(
        "I-27",
        "Stop: kill tmux, `STATUS=stopped` in `.session` and in `sessions/.sessions.index`, "
        "directory preserved.",
    ),
    _implied(
        "I-28",
        "A tmux session that died is reported as stopped/error, not active (listing verifies "
        "tmux).",
    ),
    _implied(
        "I-29",
        "Existing directory for that UUID → error, never overwritten; failed template copy or "
        "tmux creation → rolled back, no partial directory.",
    ),
    _implied(
        "I-30",
        "UUID is validated (format, no path traversal, no tmux target injection); two UUIDs "
        "with the same first 8 characters must not share a tmux session.",
    ),
)
