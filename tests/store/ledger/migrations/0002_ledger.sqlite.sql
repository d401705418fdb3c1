-- phase: expand
-- One table with a column of each kind.

CREATE TABLE kb.entries (
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount <> 13),
  note TEXT NOT NULL,
  weight REAL,
  content BLOB,
  at TEXT,
  facts TEXT,
  PRIMARY KEY (project_id, name)
) STRICT, WITHOUT ROWID;
