-- phase: expand
-- Runs in a tree, with a step budget, that can be resumed. Existing rows keep every value they
-- have: each new column is nullable or has a default, and rows from before belong to the default
-- project and to no known machine.
-- The unique index makes "a paused run is resumed once" a fact of the database. Lists are of one
-- project now, so the index of the older table begins with the project, too.

ALTER TABLE kb.agent_runs ADD COLUMN parent_run_id uuid
  REFERENCES kb.agent_runs (id) ON DELETE SET NULL CHECK (parent_run_id <> id);
ALTER TABLE kb.agent_runs ADD COLUMN step_count integer NOT NULL DEFAULT 0 CHECK (step_count >= 0);
ALTER TABLE kb.agent_runs ADD COLUMN max_steps integer CHECK (max_steps > 0);
ALTER TABLE kb.agent_runs ADD COLUMN resumed_from uuid
  REFERENCES kb.agent_runs (id) ON DELETE SET NULL CHECK (resumed_from <> id);
ALTER TABLE kb.agent_runs ADD COLUMN error_message text;
ALTER TABLE kb.agent_runs ADD COLUMN completed_at timestamptz;
ALTER TABLE kb.agent_runs ADD COLUMN project_id text NOT NULL DEFAULT 'default';
ALTER TABLE kb.agent_runs ADD COLUMN node_id text;

DROP INDEX kb.agent_runs_by_agent;
CREATE INDEX agent_runs_by_agent ON kb.agent_runs (project_id, agent_id, created_at, id);
CREATE INDEX agent_runs_by_age ON kb.agent_runs (project_id, created_at, id);
CREATE INDEX agent_runs_by_status ON kb.agent_runs (project_id, status, created_at, id);
CREATE INDEX agent_runs_by_parent ON kb.agent_runs (parent_run_id, created_at, id)
  WHERE parent_run_id IS NOT NULL;
CREATE UNIQUE INDEX agent_runs_resumed_once ON kb.agent_runs (resumed_from)
  WHERE resumed_from IS NOT NULL;
CREATE INDEX agent_runs_live ON kb.agent_runs (node_id, id)
  WHERE status IN ('queued', 'running');
