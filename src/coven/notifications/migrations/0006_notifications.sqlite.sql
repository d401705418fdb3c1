-- phase: expand
-- What people were told. An id carries the time it was made, so the key is also the order of a list.

CREATE TABLE kb.notifications (
  project_id TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT,
  subject TEXT,
  created_at TEXT NOT NULL,
  read_at TEXT,
  PRIMARY KEY (project_id, id)
) STRICT;

CREATE INDEX kb.notifications_by_kind ON notifications (project_id, kind, id);

CREATE INDEX kb.notifications_unread ON notifications (project_id, id) WHERE read_at IS NULL;
