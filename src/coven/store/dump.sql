-- name: tables (sqlite)
-- Every table of the store.
SELECT name FROM kb.sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name;

-- name: tables (postgres)
-- Every table of the store.
SELECT table_name AS name FROM information_schema.tables
WHERE table_schema = 'kb' AND table_type = 'BASE TABLE' ORDER BY table_name;

-- name: rows
-- Every row of one table; the name is put in by `dump.py`, after it was found among the tables.
SELECT * FROM kb.this_table;
