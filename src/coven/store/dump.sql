-- name: tables (sqlite)
-- Every table of the store.
SELECT name FROM kb.sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name;

-- name: tables (postgres)
-- Every table of the store.
SELECT table_name AS name FROM information_schema.tables
WHERE table_schema = 'kb' AND table_type = 'BASE TABLE' ORDER BY table_name;
