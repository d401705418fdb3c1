-- phase: expand
-- The journal of a run: every message of its conversation and every call of a tool.
-- seq grows by one per message of a run, and the order of a conversation is (step_number, seq).
-- raw holds the provider's bytes exactly as they came and raw_format says what they are. content is
-- the readable form, which jsonb may reorder and which cannot hold a NUL character.
-- A tool call has an output exactly when it has ended. `unknown` means that it was started and
-- nobody saw how it ended.

CREATE TABLE kb.agent_run_messages (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  run_id uuid NOT NULL REFERENCES kb.agent_runs (id) ON DELETE CASCADE,
  seq bigint NOT NULL CHECK (seq >= 0),
  step_number integer NOT NULL DEFAULT 0 CHECK (step_number >= 0),
  role text NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool_result')),
  content jsonb NOT NULL DEFAULT '{}',
  raw bytea,
  raw_format text,
  created_at timestamptz NOT NULL,
  UNIQUE (run_id, seq),
  CHECK ((raw IS NULL) = (raw_format IS NULL))
);

CREATE TABLE kb.agent_run_tool_calls (
  id uuid NOT NULL PRIMARY KEY,
  project_id text NOT NULL,
  run_id uuid NOT NULL REFERENCES kb.agent_runs (id) ON DELETE CASCADE,
  message_id uuid REFERENCES kb.agent_run_messages (id) ON DELETE SET NULL,
  tool_name text NOT NULL CHECK (length(tool_name) BETWEEN 1 AND 255),
  input jsonb NOT NULL DEFAULT '{}',
  output jsonb,
  status text NOT NULL CHECK (status IN (
    'planned', 'started', 'completed', 'error', 'unknown')),
  duration_ms bigint CHECK (duration_ms >= 0),
  step_number integer NOT NULL DEFAULT 0 CHECK (step_number >= 0),
  created_at timestamptz NOT NULL,
  CHECK ((status IN ('completed', 'error')) = (output IS NOT NULL)),
  CHECK (duration_ms IS NULL OR status IN ('completed', 'error'))
);

CREATE INDEX agent_run_messages_by_step ON kb.agent_run_messages (run_id, step_number, seq);
CREATE INDEX agent_run_tool_calls_by_step ON kb.agent_run_tool_calls (run_id, step_number, id);
CREATE INDEX agent_run_tool_calls_by_name ON kb.agent_run_tool_calls
  (run_id, tool_name, step_number, id);
CREATE INDEX agent_run_tool_calls_by_message ON kb.agent_run_tool_calls (message_id)
  WHERE message_id IS NOT NULL;
CREATE INDEX agent_run_tool_calls_open ON kb.agent_run_tool_calls (run_id)
  WHERE status IN ('planned', 'started', 'unknown');
