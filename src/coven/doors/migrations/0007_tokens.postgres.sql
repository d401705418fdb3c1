-- phase: expand
-- Who may come in besides the owner: a name, a scope, and the SHA-256 of a secret shown once.

CREATE TABLE kb.tokens (
  project_id text NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('read', 'work', 'admin')),
  hash text NOT NULL,
  created_at timestamptz NOT NULL,
  created_by text NOT NULL,
  revoked_at timestamptz,
  PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX tokens_by_hash ON kb.tokens (hash);
