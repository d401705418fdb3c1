-- phase: expand
-- Agent runs as the older table knew them: who ran, since when, for how long, with what summary.
-- What a tree of runs, a step budget and resuming need is deliberately not here. A later migration
-- adds it, so that upgrading a table with rows in it is a thing that really happens and is tested.
-- agent_id names an agent definition. `skipped` belongs to skip_reason: a trigger came and nothing
-- ran. A run that waits in the queue has its created_at as started_at until it starts.

CREATE TABLE kb.agent_runs (
  id uuid NOT NULL PRIMARY KEY,
  agent_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN (
    'queued', 'running', 'paused', 'completed', 'failed', 'cancelled', 'skipped')),
  started_at timestamptz NOT NULL,
  duration_ms bigint CHECK (duration_ms >= 0),
  summary jsonb NOT NULL DEFAULT '{}',
  skip_reason text,
  created_at timestamptz NOT NULL
);

CREATE INDEX agent_runs_by_agent ON kb.agent_runs (agent_id, created_at, id);
