-- phase: expand
-- The journal of a run: every message of its conversation and every call of a tool.
-- seq grows by one per message of a run, and the order of a conversation is (step_number, seq).
-- raw holds the provider's bytes exactly as they came and raw_format says what they are. content is
-- the readable form, which jsonb may reorder and which cannot hold a NUL character.
-- A tool call has an output exactly when it has ended. `unknown` means that it was started and
-- nobody saw how it ended.

CREATE TABLE kb.agent_run_messages (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES agent_runs (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL CHECK (seq >= 0),
  step_number INTEGER NOT NULL DEFAULT 0 CHECK (step_number >= 0),
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool_result')),
  content TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(content)),
  raw BLOB,
  raw_format TEXT,
  created_at TEXT NOT NULL,
  UNIQUE (run_id, seq),
  CHECK ((raw IS NULL) = (raw_format IS NULL))
) STRICT;

CREATE TABLE kb.agent_run_tool_calls (
  id TEXT NOT NULL PRIMARY KEY,
  project_id TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES agent_runs (id) ON DELETE CASCADE,
  message_id TEXT REFERENCES agent_run_messages (id) ON DELETE SET NULL,
  tool_name TEXT NOT NULL CHECK (length(tool_name) BETWEEN 1 AND 255),
  input TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(input)),
  output TEXT CHECK (json_valid(output)),
  status TEXT NOT NULL CHECK (status IN (
    'planned', 'started', 'completed', 'error', 'unknown')),
  duration_ms INTEGER CHECK (duration_ms >= 0),
  step_number INTEGER NOT NULL DEFAULT 0 CHECK (step_number >= 0),
  created_at TEXT NOT NULL,
  CHECK ((status IN ('completed', 'error')) = (output IS NOT NULL)),
  CHECK (duration_ms IS NULL OR status IN ('completed', 'error'))
) STRICT;

CREATE INDEX kb.agent_run_messages_by_step ON agent_run_messages (run_id, step_number, seq);
CREATE INDEX kb.agent_run_tool_calls_by_step ON agent_run_tool_calls (run_id, step_number, id);
CREATE INDEX kb.agent_run_tool_calls_by_name ON agent_run_tool_calls
  (run_id, tool_name, step_number, id);
CREATE INDEX kb.agent_run_tool_calls_by_message ON agent_run_tool_calls (message_id)
  WHERE message_id IS NOT NULL;
CREATE INDEX kb.agent_run_tool_calls_open ON agent_run_tool_calls (run_id)
  WHERE status IN ('planned', 'started', 'unknown');
