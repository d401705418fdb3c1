-- phase: expand
-- Questions: what somebody asks a person. Whoever asked (an agent, a run, or a task in their name)
-- lives on a floor above, so those ids are not foreign keys, and the rooms above delete the
-- questions of what they delete.
-- An answer is all of it or nothing: the response, when it came, and the status that says so.
-- Resolved means that the answer reached whoever asked.

CREATE TABLE kb.questions (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  task_id TEXT,
  agent_id TEXT,
  run_id TEXT,
  type TEXT NOT NULL CHECK (type IN (
    'clarification', 'permission', 'decision', 'blocked')),
  prompt TEXT NOT NULL CHECK (prompt <> ''),
  options TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(options)),
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN (
    'pending', 'answered', 'resolved', 'expired', 'cancelled')),
  response TEXT,
  responded_by TEXT,
  responded_at TEXT,
  resolved_at TEXT,
  created_at TEXT NOT NULL,
  CHECK ((status IN ('answered', 'resolved')) = (responded_at IS NOT NULL)),
  CHECK ((response IS NULL) = (responded_at IS NULL)),
  CHECK (responded_by IS NULL OR responded_at IS NOT NULL),
  CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
) STRICT;

CREATE INDEX kb.questions_by_age ON questions (project_id, created_at, id);
CREATE INDEX kb.questions_by_status ON questions (project_id, status, created_at, id);
CREATE INDEX kb.questions_by_agent ON questions (agent_id)
  WHERE agent_id IS NOT NULL;
CREATE INDEX kb.questions_by_run ON questions (run_id)
  WHERE run_id IS NOT NULL;
CREATE INDEX kb.questions_by_task ON questions (task_id)
  WHERE task_id IS NOT NULL;
