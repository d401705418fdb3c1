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
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  parent_id uuid REFERENCES kb.tasks (id),
  depth integer NOT NULL DEFAULT 0 CHECK (depth >= 0),
  title text NOT NULL CHECK (title <> ''),
  body text NOT NULL DEFAULT '',
  type text NOT NULL DEFAULT 'task' CHECK (type IN ('task', 'feature', 'bug')),
  status text NOT NULL DEFAULT 'open' CHECK (status IN (
    'open', 'in_progress', 'pending_merge', 'blocked', 'closed')),
  priority smallint NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 4),
  claimed_by text,
  claimed_at timestamptz,
  claim_expires_at timestamptz,
  fence bigint NOT NULL DEFAULT 0 CHECK (fence >= 0),
  grimoire_hint text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  closed_at timestamptz,
  deleted_at timestamptz,
  UNIQUE (parent_id, id),
  CHECK (parent_id <> id),
  CHECK ((parent_id IS NULL) = (depth = 0)),
  CHECK ((claimed_by IS NULL) = (claimed_at IS NULL)),
  CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL)),
  CHECK (status <> 'open' OR claimed_by IS NULL),
  CHECK (status <> 'in_progress' OR claimed_by IS NOT NULL),
  CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
  CHECK (deleted_at IS NULL OR status IN ('open', 'blocked', 'closed'))
);

CREATE TABLE kb.tags (
  task_id uuid NOT NULL REFERENCES kb.tasks (id) ON DELETE CASCADE,
  tag text COLLATE "C" NOT NULL CHECK (tag <> ''),
  project_id text NOT NULL,
  PRIMARY KEY (task_id, tag)
);

CREATE TABLE kb.children (
  parent_id uuid NOT NULL,
  child_id uuid NOT NULL UNIQUE,
  project_id text NOT NULL,
  PRIMARY KEY (parent_id, child_id),
  FOREIGN KEY (parent_id, child_id) REFERENCES kb.tasks (parent_id, id)
    ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE kb.task_history (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  task_id uuid NOT NULL REFERENCES kb.tasks (id) ON DELETE CASCADE,
  field text NOT NULL CHECK (field <> ''),
  old_value text,
  new_value text,
  changed_at timestamptz NOT NULL,
  changed_by text NOT NULL,
  reason text
);

CREATE TABLE kb.workflows (
  task_id uuid NOT NULL PRIMARY KEY REFERENCES kb.tasks (id) ON DELETE CASCADE,
  workflow_id uuid NOT NULL UNIQUE,
  project_id text NOT NULL,
  grimoire_name text NOT NULL,
  current_step integer NOT NULL DEFAULT 0 CHECK (current_step >= 0),
  status text NOT NULL CHECK (status IN (
    'running', 'pending_merge', 'blocked', 'completed', 'failed', 'cancelled')),
  completed_steps jsonb NOT NULL DEFAULT '{}',
  step_outputs jsonb NOT NULL DEFAULT '{}',
  active_agent_id uuid REFERENCES kb.agents (id) ON DELETE SET NULL,
  error text,
  blocked_reason text,
  started_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  CHECK ((status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)),
  CHECK (status <> 'blocked' OR blocked_reason IS NOT NULL)
);

CREATE TABLE kb.task_questions (
  task_id uuid NOT NULL REFERENCES kb.tasks (id) ON DELETE CASCADE,
  question_id uuid NOT NULL UNIQUE REFERENCES kb.questions (id) ON DELETE CASCADE,
  project_id text NOT NULL,
  PRIMARY KEY (task_id, question_id)
);

CREATE INDEX tasks_by_age ON kb.tasks (project_id, created_at, id);
CREATE INDEX tasks_by_status ON kb.tasks (project_id, status, created_at, id);
CREATE INDEX tasks_ready ON kb.tasks (project_id, priority, created_at, id)
  WHERE status = 'open' AND deleted_at IS NULL;
CREATE INDEX tasks_claimed ON kb.tasks (project_id, claim_expires_at, id)
  WHERE claimed_by IS NOT NULL;
CREATE INDEX tasks_by_holder ON kb.tasks (project_id, claimed_by, created_at, id)
  WHERE claimed_by IS NOT NULL;
CREATE INDEX tasks_to_delete ON kb.tasks (project_id, closed_at, id)
  WHERE closed_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX tasks_deleted ON kb.tasks (project_id, deleted_at, id)
  WHERE deleted_at IS NOT NULL;
CREATE INDEX tags_by_tag ON kb.tags (project_id, tag, task_id);
CREATE INDEX task_history_by_task ON kb.task_history (task_id, changed_at, id);
CREATE INDEX workflows_by_age ON kb.workflows (project_id, started_at, workflow_id);
CREATE INDEX workflows_by_status ON kb.workflows (project_id, status, started_at, workflow_id);
CREATE INDEX workflows_ended ON kb.workflows (project_id, completed_at)
  WHERE completed_at IS NOT NULL;
CREATE INDEX workflows_by_agent ON kb.workflows (active_agent_id)
  WHERE active_agent_id IS NOT NULL;
