-- What only the shared engine asks.

-- name: tables_of_others
-- Tables in our schema although the first migration has not run.
SELECT tablename AS table_name FROM pg_catalog.pg_tables WHERE schemaname = 'kb' LIMIT 1;

-- name: table
-- Every row of one table; its name is put in after it was found among the tables.
SELECT * FROM kb."this_table";

-- name: invalid
-- What the server itself does not rely on: indexes and constraints that were never completed.
SELECT 'index' AS kind, named.relname AS name FROM pg_index AS made
JOIN pg_class AS named ON named.oid = made.indexrelid
WHERE named.relnamespace = 'kb'::regnamespace AND NOT made.indisvalid
UNION ALL
SELECT 'constraint', conname FROM pg_constraint
WHERE connamespace = 'kb'::regnamespace AND NOT convalidated
ORDER BY 1, 2;

-- name: index_checker
-- The function of the extension amcheck that looks at an index, where we may call it.
SELECT quote_ident(place.nspname) || '.bt_index_check' AS name
FROM pg_extension AS known JOIN pg_namespace AS place ON place.oid = known.extnamespace
WHERE known.extname = 'amcheck' AND has_function_privilege(
  to_regprocedure(quote_ident(place.nspname) || '.bt_index_check(regclass, boolean)'), 'execute');

-- name: indexes
-- Every index that the function can look at.
SELECT made.indexrelid::regclass::text AS name FROM pg_index AS made
JOIN pg_class AS named ON named.oid = made.indexrelid
JOIN pg_am AS method ON method.oid = named.relam
WHERE named.relnamespace = 'kb'::regnamespace AND method.amname = 'btree' AND made.indisvalid
ORDER BY 1;

-- name: check_index
-- Look at one index, and for each row of its table in it.
SELECT this_function(:name::regclass, true);
