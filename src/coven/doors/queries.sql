-- name: insert
-- A new token; the secret itself is never kept.
INSERT INTO kb.tokens (project_id, id, name, scope, hash, created_at, created_by)
VALUES (:project, :id, :name, :scope, :hash, :created_at, :created_by);

-- name: get
-- One token, revoked or not.
SELECT id, name, scope, created_at, created_by, revoked_at
FROM kb.tokens WHERE project_id = :project AND id = :id;

-- name: page
-- Newest first, the ones older than a given one; revoked ones stay for the record.
SELECT id, name, scope, created_at, created_by, revoked_at FROM kb.tokens
WHERE project_id = :project AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: revoke
-- Revoked now; no row when it was revoked before, or is not there.
UPDATE kb.tokens SET revoked_at = :revoked_at
WHERE project_id = :project AND id = :id AND revoked_at IS NULL;

-- name: revoked
-- Whether a token is revoked, whatever its project.
SELECT 1 AS found FROM kb.tokens WHERE id = :id AND revoked_at IS NOT NULL;

-- name: grant
-- What a secret gives, whatever its project: a caller is known before its project is.
SELECT project_id, id, name, scope FROM kb.tokens
WHERE hash = :hash AND revoked_at IS NULL;
