-- name: insert
-- A new notification, unread.
INSERT INTO kb.notifications (project_id, id, kind, title, body, subject, created_at)
VALUES (:project, :id, :kind, :title, :body, :subject, :created_at);

-- name: get
-- One notification.
SELECT id, kind, title, body, subject, created_at, read_at
FROM kb.notifications WHERE project_id = :project AND id = :id;

-- name: mark_read
-- Read now; no row when it was read before, or is not there.
UPDATE kb.notifications SET read_at = :read_at
WHERE project_id = :project AND id = :id AND read_at IS NULL;

-- name: page
-- Newest first, the ones older than a given one.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: page_of_kind
-- The same, of one kind.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND kind = :kind AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: page_unread
-- The same, only what nobody has read yet.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND read_at IS NULL AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: page_unread_of_kind
-- The same, of one kind and unread.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND kind = :kind AND read_at IS NULL AND id < :before
ORDER BY id DESC LIMIT :limit;

-- name: page_read
-- The same, only what somebody has read.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND read_at IS NOT NULL AND id < :before ORDER BY id DESC LIMIT :limit;

-- name: page_read_of_kind
-- The same, of one kind and read.
SELECT id, kind, title, body, subject, created_at, read_at FROM kb.notifications
WHERE project_id = :project AND kind = :kind AND read_at IS NOT NULL AND id < :before
ORDER BY id DESC LIMIT :limit;
