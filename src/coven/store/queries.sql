-- name: lock (sqlite)
-- The last event of a project; on PostgreSQL its row stays locked until the commit.
SELECT epoch, seq, floor, last_at FROM kb.event_head WHERE project_id = :project;

-- name: lock (postgres)
-- The last event of a project; on PostgreSQL its row stays locked until the commit.
SELECT epoch, seq, floor, last_at FROM kb.event_head WHERE project_id = :project FOR UPDATE;

-- name: start
-- The head of a project that has no event yet. Two daemons may both try.
INSERT INTO kb.event_head (project_id, epoch, seq, floor, last_at)
VALUES (:project, :epoch, 0, 0, '1970-01-01T00:00:00.000000Z')
ON CONFLICT (project_id) DO NOTHING;

-- name: advance
-- Move the head on to the last event of a group.
UPDATE kb.event_head SET seq = :seq, last_at = :last_at WHERE project_id = :project;

-- name: append
-- One event, with the number that its group gave it.
INSERT INTO kb.events (project_id, seq, type, entity, entity_id, timestamp, data)
VALUES (:project, :seq, :type, :entity, :entity_id, :timestamp, :data);

-- name: head
-- The last event of a project, without locking it.
SELECT epoch, seq, floor, last_at FROM kb.event_head WHERE project_id = :project;

-- name: heads
-- The last event of every project.
SELECT project_id, epoch, seq, floor FROM kb.event_head ORDER BY project_id;

-- name: events_after
-- Events in their order, from the one after a number.
SELECT seq, type, entity, entity_id, timestamp, data FROM kb.events
WHERE project_id = :project AND seq > :after ORDER BY seq LIMIT :limit;

-- name: event_time
-- When the event with this number happened.
SELECT timestamp FROM kb.events WHERE project_id = :project AND seq = :seq;

-- name: retire_events
-- Delete the oldest events, up to a number and not more than a batch.
DELETE FROM kb.events WHERE project_id = :project AND seq > :above AND seq <= :through;

-- name: raise_floor
-- Remember that no event up to this number is kept any more.
UPDATE kb.event_head SET floor = :floor WHERE project_id = :project AND floor < :floor;

-- name: has_meta (sqlite)
-- Whether the first migration has run.
SELECT 1 AS found FROM kb.sqlite_master WHERE type = 'table' AND name = 'meta';

-- name: has_meta (postgres)
-- Whether the first migration has run.
SELECT 1 AS found FROM information_schema.tables WHERE table_schema = 'kb' AND table_name = 'meta';

-- name: meta
-- Everything that is written down about the store itself.
SELECT key, value FROM kb.meta ORDER BY key;

-- name: meta_value
-- One thing that is written down about the store itself.
SELECT value FROM kb.meta WHERE key = :key;

-- name: note
-- Write something down about the store itself, or change it.
INSERT INTO kb.meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: claim_key
-- The first use of an idempotency key, with the id of what it makes.
INSERT INTO kb.idempotency_keys
  (project_id, principal, key, request_hash, resource_id, created_at)
VALUES (:project, :principal, :key, :request_hash, :resource_id, :created_at)
ON CONFLICT (project_id, principal, key) DO NOTHING;

-- name: claimed_key
-- What a key was used for.
SELECT request_hash, resource_id, status, reply, created_at FROM kb.idempotency_keys
WHERE project_id = :project AND principal = :principal AND key = :key;

-- name: answer_key
-- The reply that a key got; the first one stays.
UPDATE kb.idempotency_keys SET status = :status, reply = :reply
WHERE project_id = :project AND principal = :principal AND key = :key
  AND request_hash = :request_hash AND status IS NULL;

-- name: release_key
-- Forget a claim that got no reply.
DELETE FROM kb.idempotency_keys
WHERE project_id = :project AND principal = :principal AND key = :key
  AND request_hash = :request_hash AND status IS NULL;

-- name: drop_key
-- Forget one key that is too old.
DELETE FROM kb.idempotency_keys
WHERE project_id = :project AND principal = :principal AND key = :key AND created_at <= :before;

-- name: count_old_keys
-- How many keys are too old.
SELECT count(*) AS found FROM kb.idempotency_keys
WHERE project_id = :project AND created_at <= :before;

-- name: retire_keys
-- Forget keys that are too old, oldest first and not more than a batch.
DELETE FROM kb.idempotency_keys
WHERE project_id = :project AND (principal, key) IN (
  SELECT principal, key FROM kb.idempotency_keys
  WHERE project_id = :project AND created_at <= :before ORDER BY created_at LIMIT :limit
);
