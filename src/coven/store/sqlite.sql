-- What only the embedded engine asks. Names are put into `this_table` and `these_columns` by
-- `salvage.py`, after they were found in the file.

-- name: renew_epochs
-- In a copy: make each log another one, because it will go on differently from here.
UPDATE kb.event_head SET epoch = lower(hex(randomblob(4)));

-- name: key
-- The columns by which the rows of a table stand in the file; none where that is the rowid.
SELECT described.name FROM pragma_table_list AS listed
JOIN pragma_table_info(listed.name, 'kb') AS described
WHERE listed.schema = 'kb' AND listed.name = :name AND listed.wr = 1 AND described.pk > 0
ORDER BY described.pk;

-- name: forwards
-- The rows of a table, from the beginning, in the order in which they stand.
SELECT * FROM kb."this_table" ORDER BY these_columns;

-- name: backwards
-- The rows of a table, from the end to one that is known, or to the beginning.
SELECT * FROM kb."this_table" WHERE these_columns ORDER BY those_columns;

-- name: by_number
-- The rows of a table that has rowids, from one of them on.
SELECT rowid AS row_number, * FROM kb."this_table" WHERE rowid >= :start ORDER BY rowid;
