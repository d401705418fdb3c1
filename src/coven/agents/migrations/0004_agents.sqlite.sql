-- phase: expand
-- Agents: coding agents that run as processes for a task. An agent has an id of its own, because
-- one task sees several of them: retries, and the steps of its workflow.
-- task_id is not a foreign key: tasks are a floor above, and the room of the tasks deletes a task's
-- agents itself. Liveness and activity are what was last seen of the process and stand beside the
-- status: an agent of unknown liveness stays `running`, is never signalled and never run again.
-- The unique index is a promise: no two live agents ever share a worktree.

CREATE TABLE kb.agents (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  step_task_id TEXT,
  status TEXT NOT NULL CHECK (status IN (
    'starting', 'running', 'completed', 'failed', 'killed')),
  liveness TEXT NOT NULL DEFAULT 'unknown' CHECK (liveness IN (
    'alive', 'dead', 'unknown')),
  activity TEXT CHECK (activity IN ('busy', 'waiting_input', 'idle', 'parked')),
  recovered INTEGER NOT NULL DEFAULT 0 CHECK (recovered IN (0, 1)),
  worktree TEXT,
  branch TEXT,
  pid INTEGER CHECK (pid > 0),
  exit_code INTEGER,
  error TEXT,
  output_file TEXT,
  line_count INTEGER NOT NULL DEFAULT 0 CHECK (line_count >= 0),
  last_seq INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
  created_at TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT,
  CHECK (status <> 'running' OR (pid IS NOT NULL AND started_at IS NOT NULL)),
  CHECK ((status IN ('completed', 'failed', 'killed')) = (ended_at IS NOT NULL)),
  CHECK (exit_code IS NULL OR ended_at IS NOT NULL)
) STRICT;

CREATE INDEX kb.agents_by_age ON agents (project_id, created_at, id);
CREATE INDEX kb.agents_by_status ON agents (project_id, status, created_at, id);
CREATE INDEX kb.agents_by_task ON agents (task_id, created_at, id);
CREATE INDEX kb.agents_live ON agents (node_id, id)
  WHERE status IN ('starting', 'running');
CREATE UNIQUE INDEX kb.agents_alone_in_worktree ON agents (node_id, worktree)
  WHERE worktree IS NOT NULL AND status IN ('starting', 'running');
