"""The table of the workspaces: what the database never accepts."""

from coven.store import Store
from scripts.upgrade_rows import at
from tests.upgrades import rows


async def test_a_workspace_that_cannot_be_is_refused_by_the_database(store: Store):
    held: rows.Wanted = {"status": "ready", "container_type": "agent_workspace"}
    server: rows.Wanted = {"container_type": "mcp_server"}
    changes: list[tuple[rows.Wanted, rows.Wanted]] = [
        (held, {"generation": 0}),
        (held, {"generation": -1, "agent_session_id": None}),
        (held, {"status": "destroyed"}),
        (held, {"status": "asleep"}),
        (held, {"container_type": "mcp_server"}),
        (held, {"mcp_config": "{}"}),
        (held, {"provider": ""}),
        (held, {"lifecycle": "eternal"}),
        (held, {"resource_limits": "4G"}),
        (server, {"mcp_config": None}),
        (server, {"lifecycle": "ephemeral"}),
        (server, {"expires_at": at(1)}),
    ]
    assert await rows.accepted(store, "agent_workspaces", changes) == []
    await rows.fill(store, "agent_workspaces")
