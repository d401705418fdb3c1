-- name: add
-- A new entry.
INSERT INTO kb.entries (project_id, name, amount, note, weight, content, at, facts)
VALUES (:project, :name, :amount, :note, :weight, :content, :at, :facts);

-- name: add_once
-- A new entry, unless it is there.
INSERT INTO kb.entries (project_id, name, amount, note)
VALUES (:project, :name, :amount, '') ON CONFLICT (project_id, name) DO NOTHING;

-- name: change
-- Change an entry and say what it was made.
UPDATE kb.entries SET amount = amount + :by
WHERE project_id = :project AND name LIKE :pattern RETURNING name, amount;

-- name: remove
-- Remove an entry.
DELETE FROM kb.entries WHERE project_id = :project AND name = :name;

-- name: find
-- One entry.
SELECT name, amount, note, weight, content, at, facts FROM kb.entries
WHERE project_id = :project AND name = :name;

-- name: names
-- The names of all entries.
SELECT name FROM kb.entries WHERE project_id = :project ORDER BY name;

-- name: total
-- The sum of all amounts; an answer that PostgreSQL calls numeric and boolean.
SELECT coalesce(sum(amount), 0) AS total, count(*) > 1 AS several
FROM kb.entries WHERE project_id = :project;

-- name: percent
-- A text with everything that a rewriting of placeholders could stumble over.
SELECT '%s :name ''x'' %(y)s' AS quoted, CAST(:amount AS bigint) % 7 AS rest,
  CAST('5' AS text) AS "a:b" -- not :this either, 100%
;

-- name: broken
-- A statement that neither engine can run.
SELECT nothing FROM kb.no_such_table;
