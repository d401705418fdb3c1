-- phase: expand
-- Workspaces: durable filesystems, and the instance that runs commands in each. One table holds
-- all four kinds. A hosted MCP server is a workspace whose mcp_config says what to start: it is
-- always persistent and never expires.
-- agent_session_id is who holds the workspace now and may be any text. generation grows with every
-- holder and is never 0 while there is one. provider is the one that was really used, whatever was
-- asked for, so its names are not listed here. A destroyed workspace keeps its row for the audit
-- trail and has no holder.

CREATE TABLE kb.agent_workspaces (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  name TEXT,
  agent_session_id TEXT,
  generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
  container_type TEXT NOT NULL CHECK (container_type IN (
    'agent_workspace', 'mcp_server', 'worktree', 'unit')),
  provider TEXT NOT NULL CHECK (provider <> ''),
  provider_workspace_id TEXT NOT NULL DEFAULT '',
  repository_url TEXT,
  branch TEXT,
  deployment_mode TEXT NOT NULL DEFAULT 'self-hosted' CHECK (deployment_mode IN (
    'managed', 'self-hosted')),
  lifecycle TEXT NOT NULL DEFAULT 'ephemeral' CHECK (lifecycle IN (
    'ephemeral', 'persistent')),
  status TEXT NOT NULL DEFAULT 'creating' CHECK (status IN (
    'creating', 'ready', 'stopping', 'stopped', 'resuming', 'error',
    'destroying', 'destroyed')),
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  expires_at TEXT,
  resource_limits TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(resource_limits)),
  snapshot_id TEXT,
  mcp_config TEXT CHECK (json_valid(mcp_config)),
  metadata TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
  CHECK (agent_session_id IS NULL OR generation > 0),
  CHECK (agent_session_id IS NULL OR status <> 'destroyed'),
  CHECK (container_type <> 'mcp_server' OR (lifecycle = 'persistent' AND expires_at IS NULL)),
  CHECK ((container_type = 'mcp_server') = (mcp_config IS NOT NULL))
) STRICT;

CREATE INDEX kb.agent_workspaces_by_age ON agent_workspaces (project_id, created_at, id);
CREATE INDEX kb.agent_workspaces_by_status ON agent_workspaces (project_id, status, created_at, id);
CREATE INDEX kb.agent_workspaces_by_holder ON agent_workspaces (project_id, agent_session_id)
  WHERE agent_session_id IS NOT NULL;
CREATE INDEX kb.agent_workspaces_by_expiry ON agent_workspaces (expires_at)
  WHERE expires_at IS NOT NULL;
CREATE INDEX kb.agent_workspaces_by_node ON agent_workspaces (node_id, status)
  WHERE status <> 'destroyed';
CREATE INDEX kb.agent_workspaces_servers ON agent_workspaces (node_id, status)
  WHERE container_type = 'mcp_server' AND lifecycle = 'persistent';
