-- phase: expand
-- Questions: what somebody asks a person. Whoever asked (an agent, a run, or a task in their name)
-- lives on a floor above, so those ids are not foreign keys, and the rooms above delete the
-- questions of what they delete.
-- An answer is all of it or nothing: the response, when it came, and the status that says so.
-- Resolved means that the answer reached whoever asked.

CREATE TABLE kb.questions (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  task_id uuid,
  agent_id uuid,
  run_id uuid,
  type text NOT NULL CHECK (type IN (
    'clarification', 'permission', 'decision', 'blocked')),
  prompt text NOT NULL CHECK (prompt <> ''),
  options jsonb NOT NULL DEFAULT '[]',
  status text NOT NULL DEFAULT 'pending' CHECK (status IN (
    'pending', 'answered', 'resolved', 'expired', 'cancelled')),
  response text,
  responded_by text,
  responded_at timestamptz,
  resolved_at timestamptz,
  created_at timestamptz NOT NULL,
  CHECK ((status IN ('answered', 'resolved')) = (responded_at IS NOT NULL)),
  CHECK ((response IS NULL) = (responded_at IS NULL)),
  CHECK (responded_by IS NULL OR responded_at IS NOT NULL),
  CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
);

CREATE INDEX questions_by_age ON kb.questions (project_id, created_at, id);
CREATE INDEX questions_by_status ON kb.questions (project_id, status, created_at, id);
CREATE INDEX questions_by_agent ON kb.questions (agent_id)
  WHERE agent_id IS NOT NULL;
CREATE INDEX questions_by_run ON kb.questions (run_id)
  WHERE run_id IS NOT NULL;
CREATE INDEX questions_by_task ON kb.questions (task_id)
  WHERE task_id IS NOT NULL;
