-- phase: expand
-- What the store itself keeps: notes about itself, the log of events with the row that numbers it,
-- and the keys by which a repeated request is recognised.

CREATE TABLE kb.meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kb.event_head (
  project_id TEXT PRIMARY KEY,
  epoch TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 0),
  floor INTEGER NOT NULL CHECK (floor BETWEEN 0 AND seq),
  last_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kb.events (
  project_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  entity TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  data TEXT NOT NULL CHECK (json_valid(data)),
  PRIMARY KEY (project_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE kb.idempotency_keys (
  project_id TEXT NOT NULL,
  principal TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  status INTEGER,
  reply TEXT,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project_id, principal, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kb.idempotency_keys_by_age ON idempotency_keys (project_id, created_at);
