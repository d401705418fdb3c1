-- phase: expand
-- Tasks and everything that hangs on one: tags, children, history, workflow, questions.
-- A claim is whole (who, since when, until when) or absent, and fence grows with every claim, so
-- that a late write of an earlier holder can be refused. claimed_by may be any text: people and
-- outside programs claim too. Retention counts from closed_at, so an edit does not restart the
-- month.
-- kb.children repeats tasks.parent_id as the bucket that the specification names. Its key points at
-- the pair (parent, child) of the task itself, so it cannot say something else than the task does.
-- A task has at most one workflow, the latest: its key is the task.
-- What belongs to a task goes with it. A parent cannot go before its children.

CREATE TABLE kb.tasks (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  parent_id TEXT REFERENCES tasks (id),
  depth INTEGER NOT NULL DEFAULT 0 CHECK (depth >= 0),
  title TEXT NOT NULL CHECK (title <> ''),
  body TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT 'task' CHECK (type IN ('task', 'feature', 'bug')),
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN (
    'open', 'in_progress', 'pending_merge', 'blocked', 'closed')),
  priority INTEGER NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 4),
  claimed_by TEXT,
  claimed_at TEXT,
  claim_expires_at TEXT,
  fence INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
  grimoire_hint TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  closed_at TEXT,
  deleted_at TEXT,
  UNIQUE (parent_id, id),
  CHECK (parent_id <> id),
  CHECK ((parent_id IS NULL) = (depth = 0)),
  CHECK ((claimed_by IS NULL) = (claimed_at IS NULL)),
  CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL)),
  CHECK (status <> 'open' OR claimed_by IS NULL),
  CHECK (status <> 'in_progress' OR claimed_by IS NOT NULL),
  CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
  CHECK (deleted_at IS NULL OR status IN ('open', 'blocked', 'closed'))
) STRICT;

CREATE TABLE kb.tags (
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  tag TEXT NOT NULL CHECK (tag <> ''),
  project_id TEXT NOT NULL,
  PRIMARY KEY (task_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE kb.children (
  parent_id TEXT NOT NULL,
  child_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  PRIMARY KEY (parent_id, child_id),
  FOREIGN KEY (parent_id, child_id) REFERENCES tasks (parent_id, id)
    ON DELETE CASCADE ON UPDATE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE kb.task_history (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  field TEXT NOT NULL CHECK (field <> ''),
  old_value TEXT,
  new_value TEXT,
  changed_at TEXT NOT NULL,
  changed_by TEXT NOT NULL,
  reason TEXT
) STRICT;

CREATE TABLE kb.workflows (
  task_id TEXT NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
  workflow_id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  grimoire_name TEXT NOT NULL,
  current_step INTEGER NOT NULL DEFAULT 0 CHECK (current_step >= 0),
  status TEXT NOT NULL CHECK (status IN (
    'running', 'pending_merge', 'blocked', 'completed', 'failed', 'cancelled')),
  completed_steps TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(completed_steps)),
  step_outputs TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(step_outputs)),
  active_agent_id TEXT REFERENCES agents (id) ON DELETE SET NULL,
  error TEXT,
  blocked_reason TEXT,
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  completed_at TEXT,
  CHECK ((status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)),
  CHECK (status <> 'blocked' OR blocked_reason IS NOT NULL)
) STRICT;

CREATE TABLE kb.task_questions (
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  question_id TEXT NOT NULL UNIQUE REFERENCES questions (id) ON DELETE CASCADE,
  project_id TEXT NOT NULL,
  PRIMARY KEY (task_id, question_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX kb.tasks_by_age ON tasks (project_id, created_at, id);
CREATE INDEX kb.tasks_by_status ON tasks (project_id, status, created_at, id);
CREATE INDEX kb.tasks_ready ON tasks (project_id, priority, created_at, id)
  WHERE status = 'open' AND deleted_at IS NULL;
CREATE INDEX kb.tasks_claimed ON tasks (project_id, claim_expires_at, id)
  WHERE claimed_by IS NOT NULL;
CREATE INDEX kb.tasks_by_holder ON tasks (project_id, claimed_by, created_at, id)
  WHERE claimed_by IS NOT NULL;
CREATE INDEX kb.tasks_to_delete ON tasks (project_id, closed_at, id)
  WHERE closed_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX kb.tasks_deleted ON tasks (project_id, deleted_at, id)
  WHERE deleted_at IS NOT NULL;
CREATE INDEX kb.tags_by_tag ON tags (project_id, tag, task_id);
CREATE INDEX kb.task_history_by_task ON task_history (task_id, changed_at, id);
CREATE INDEX kb.workflows_by_age ON workflows (project_id, started_at, workflow_id);
CREATE INDEX kb.workflows_by_status ON workflows (project_id, status, started_at, workflow_id);
CREATE INDEX kb.workflows_ended ON workflows (project_id, completed_at)
  WHERE completed_at IS NOT NULL;
CREATE INDEX kb.workflows_by_agent ON workflows (active_agent_id)
  WHERE active_agent_id IS NOT NULL;
