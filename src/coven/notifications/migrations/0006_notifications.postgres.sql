-- phase: expand
-- What people were told. An id carries the time it was made, so the key is also the order of a list.

CREATE TABLE kb.notifications (
  project_id text NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  title text NOT NULL,
  body text,
  subject text,
  created_at timestamptz NOT NULL,
  read_at timestamptz,
  PRIMARY KEY (project_id, id)
);

CREATE INDEX notifications_by_kind ON kb.notifications (project_id, kind, id);

CREATE INDEX notifications_unread ON kb.notifications (project_id, id) WHERE read_at IS NULL;
