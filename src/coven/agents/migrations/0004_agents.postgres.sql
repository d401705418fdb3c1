-- phase: expand
-- Agents: coding agents that run as processes for a task. An agent has an id of its own, because
-- one task sees several of them: retries, and the steps of its workflow.
-- task_id is not a foreign key: tasks are a floor above, and the room of the tasks deletes a task's
-- agents itself. Liveness and activity are what was last seen of the process and stand beside the
-- status: an agent of unknown liveness stays `running`, is never signalled and never run again.
-- The unique index is a promise: no two live agents ever share a worktree.

CREATE TABLE kb.agents (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  node_id text NOT NULL,
  task_id uuid NOT NULL,
  step_task_id text,
  status text NOT NULL CHECK (status IN (
    'starting', 'running', 'completed', 'failed', 'killed')),
  liveness text NOT NULL DEFAULT 'unknown' CHECK (liveness IN (
    'alive', 'dead', 'unknown')),
  activity text CHECK (activity IN ('busy', 'waiting_input', 'idle', 'parked')),
  recovered smallint NOT NULL DEFAULT 0 CHECK (recovered IN (0, 1)),
  worktree text,
  branch text,
  pid bigint CHECK (pid > 0),
  exit_code integer,
  error text,
  output_file text,
  line_count bigint NOT NULL DEFAULT 0 CHECK (line_count >= 0),
  last_seq bigint NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  CHECK (status <> 'running' OR (pid IS NOT NULL AND started_at IS NOT NULL)),
  CHECK ((status IN ('completed', 'failed', 'killed')) = (ended_at IS NOT NULL)),
  CHECK (exit_code IS NULL OR ended_at IS NOT NULL)
);

CREATE INDEX agents_by_age ON kb.agents (project_id, created_at, id);
CREATE INDEX agents_by_status ON kb.agents (project_id, status, created_at, id);
CREATE INDEX agents_by_task ON kb.agents (task_id, created_at, id);
CREATE INDEX agents_live ON kb.agents (node_id, id)
  WHERE status IN ('starting', 'running');
CREATE UNIQUE INDEX agents_alone_in_worktree ON kb.agents (node_id, worktree)
  WHERE worktree IS NOT NULL AND status IN ('starting', 'running');
