-- phase: expand
-- Workspaces: durable filesystems, and the instance that runs commands in each. One table holds
-- all four kinds. A hosted MCP server is a workspace whose mcp_config says what to start: it is
-- always persistent and never expires.
-- agent_session_id is who holds the workspace now and may be any text. generation grows with every
-- holder and is never 0 while there is one. provider is the one that was really used, whatever was
-- asked for, so its names are not listed here. A destroyed workspace keeps its row for the audit
-- trail and has no holder.

CREATE TABLE kb.agent_workspaces (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  node_id text NOT NULL,
  name text,
  agent_session_id text,
  generation bigint NOT NULL DEFAULT 0 CHECK (generation >= 0),
  container_type text NOT NULL CHECK (container_type IN (
    'agent_workspace', 'mcp_server', 'worktree', 'unit')),
  provider text NOT NULL CHECK (provider <> ''),
  provider_workspace_id text NOT NULL DEFAULT '',
  repository_url text,
  branch text,
  deployment_mode text NOT NULL DEFAULT 'self-hosted' CHECK (deployment_mode IN (
    'managed', 'self-hosted')),
  lifecycle text NOT NULL DEFAULT 'ephemeral' CHECK (lifecycle IN (
    'ephemeral', 'persistent')),
  status text NOT NULL DEFAULT 'creating' CHECK (status IN (
    'creating', 'ready', 'stopping', 'stopped', 'resuming', 'error',
    'destroying', 'destroyed')),
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  expires_at timestamptz,
  resource_limits jsonb NOT NULL DEFAULT '{}',
  snapshot_id text,
  mcp_config jsonb,
  metadata jsonb NOT NULL DEFAULT '{}',
  CHECK (agent_session_id IS NULL OR generation > 0),
  CHECK (agent_session_id IS NULL OR status <> 'destroyed'),
  CHECK (container_type <> 'mcp_server' OR (lifecycle = 'persistent' AND expires_at IS NULL)),
  CHECK ((container_type = 'mcp_server') = (mcp_config IS NOT NULL))
);

CREATE INDEX agent_workspaces_by_age ON kb.agent_workspaces (project_id, created_at, id);
CREATE INDEX agent_workspaces_by_status ON kb.agent_workspaces (project_id, status, created_at, id);
CREATE INDEX agent_workspaces_by_holder ON kb.agent_workspaces (project_id, agent_session_id)
  WHERE agent_session_id IS NOT NULL;
CREATE INDEX agent_workspaces_by_expiry ON kb.agent_workspaces (expires_at)
  WHERE expires_at IS NOT NULL;
CREATE INDEX agent_workspaces_by_node ON kb.agent_workspaces (node_id, status)
  WHERE status <> 'destroyed';
CREATE INDEX agent_workspaces_servers ON kb.agent_workspaces (node_id, status)
  WHERE container_type = 'mcp_server' AND lifecycle = 'persistent';
