-- phase: expand
-- Who may come in besides the owner: a name, a scope, and the SHA-256 of a secret shown once.

CREATE TABLE kb.tokens (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('read', 'work', 'admin')),
  hash TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  revoked_at TEXT,
  PRIMARY KEY (project_id, id)
) STRICT;

CREATE UNIQUE INDEX kb.tokens_by_hash ON tokens (hash);
