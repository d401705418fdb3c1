-- phase: expand
-- What the store itself keeps: notes about itself, the log of events with the row that numbers it,
-- and the keys by which a repeated request is recognised.

CREATE TABLE kb.meta (
  key text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE kb.event_head (
  project_id text PRIMARY KEY,
  epoch text NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 0),
  floor bigint NOT NULL CHECK (floor BETWEEN 0 AND seq),
  last_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE kb.events (
  project_id text NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  entity text NOT NULL,
  entity_id text NOT NULL,
  timestamp timestamptz NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (project_id, seq)
);

CREATE TABLE kb.idempotency_keys (
  project_id text NOT NULL,
  principal text NOT NULL,
  key text NOT NULL,
  request_hash text NOT NULL,
  resource_id text NOT NULL,
  status integer,
  reply text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (project_id, principal, key)
);

CREATE INDEX idempotency_keys_by_age ON kb.idempotency_keys (project_id, created_at);
