-- name: logs
-- Each project's head beside what its log holds.
SELECT head.project_id, head.seq, head.floor, head.last_at, count(kept.seq) AS kept,
  min(kept.seq) AS first, max(kept.seq) AS last, max(kept.timestamp) AS newest
FROM kb.event_head AS head LEFT JOIN kb.events AS kept ON kept.project_id = head.project_id
GROUP BY head.project_id, head.seq, head.floor, head.last_at ORDER BY head.project_id;

-- name: headless
-- Projects that have events and no head.
SELECT DISTINCT project_id FROM kb.events AS kept
WHERE NOT EXISTS (SELECT 1 FROM kb.event_head AS head WHERE head.project_id = kept.project_id)
ORDER BY project_id;

-- name: gaps
-- Events before which one is missing, although it is above the floor.
SELECT later.project_id, later.seq FROM kb.events AS later
JOIN kb.event_head AS head ON head.project_id = later.project_id
LEFT JOIN kb.events AS earlier
  ON earlier.project_id = later.project_id AND earlier.seq = later.seq - 1
WHERE earlier.seq IS NULL AND later.seq > head.floor + 1
ORDER BY later.project_id, later.seq LIMIT :limit;

-- name: times
-- Events that are not later than the one before.
SELECT later.project_id, later.seq FROM kb.events AS later
JOIN kb.events AS earlier
  ON earlier.project_id = later.project_id AND earlier.seq = later.seq - 1
WHERE later.timestamp <= earlier.timestamp
ORDER BY later.project_id, later.seq LIMIT :limit;
