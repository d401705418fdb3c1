"""What the specification promises about code sessions over MCP, one line for each promise."""

from tests.spec.requirements.promise import Document, Promise

_document = Document("2-mcp-workspace-sessions.md")
_written = _document.written
_implied = _document.implied

PROMISES: tuple[Promise, ...] = (
    # Automatic sessions
    _written(
        "S-01",
        "The first tool call of an MCP client creates a workspace session automatically (no id "
        "asked for).",
    ),
    _written("S-02", "Later calls from the same client use the same session."),
    _written("S-03", "Variables persist between calls of the same client."),
    _written(
        "S-04",
        '"State" persists: functions, classes, mutable objects, files written by the code.',
    ),
    _written("S-05", "Imports remain available in later calls."),
    _written("S-06", "Switching language gives a separate workspace session per language."),
    _written("S-07", "State is isolated between languages."),
    _implied("S-08", "Switching back finds the first language's state unchanged."),
    # Binding
    _written("S-09", "stdio transport: one workspace session per server process."),
    _written("S-10", "That session lives until the process terminates."),
    _written("S-11", "HTTP transport: one workspace session per `Mcp-Session-Id`."),
    _written("S-12", "It persists across HTTP requests."),
    _implied(
        "S-13",
        "Two `Mcp-Session-Id`s never see each other's state; one cannot use the other's session"
        " id.",
    ),
    _implied(
        "S-14",
        "An unknown/expired `Mcp-Session-Id` is refused (MCP: 404, client must re-initialize); "
        "a missing one is 400.",
    ),
    # Lifecycle
    _written(
        "S-15",
        "A session inactive longer than the configured timeout is cleaned up automatically.",
    ),
    _written("S-16", "Its resources are freed (process/instance, memory, disk directory)."),
    _implied(
        "S-17",
        "The timeout is configurable; activity resets it; a running execution is activity.",
    ),
    _written("S-18", "`create_session` creates an explicit session alongside the automatic ones."),
    _written(
        "S-19",
        "Explicit sessions have independent lifecycles (destroying/expiring one does not touch "
        "the others, nor the automatic one).",
    ),
    _written("S-20", "On client disconnect the associated workspace sessions are cleaned up."),
    _written("S-21", "…and the underlying sandbox sessions are destroyed."),
    # Inspection
    _written("S-22", "`get_workspace_info` returns session metadata."),
    _written("S-23", "It includes the execution history."),
    _written("S-24", "It includes the current state (variables, imports, files…)."),
    _written("S-25", "With appropriate administrative access one can list active sessions."),
    _implied("S-26", "Without it the listing is refused."),
    _written("S-27", "The listing includes resource-usage information."),
    # Resource limits
    _written("S-28", "When a session's memory use exceeds its limit the execution is terminated."),
    _written(
        "S-29",
        "The session may be reset (and is usable afterwards; the caller is told whether it was "
        "reset).",
    ),
    _written(
        "S-30",
        "A client attempting too many concurrent sessions has the additional ones rejected.",
    ),
    _written("S-31", "An appropriate error is returned for that."),
    _implied(
        "S-32",
        "Existing sessions and other clients are unaffected; the limit is per client and "
        "race-free.",
    ),
    _written("S-33", "Execution exceeding its fuel budget traps with `OutOfFuel`."),
    _written("S-34", "Session state stays intact so the caller can retry."),
)
