-- phase: expand
-- One table with a column of each kind.

CREATE TABLE kb.entries (
  project_id text NOT NULL,
  name text NOT NULL,
  amount bigint NOT NULL CHECK (amount <> 13),
  note text NOT NULL,
  weight double precision,
  content bytea,
  at timestamptz,
  facts jsonb,
  PRIMARY KEY (project_id, name)
);
