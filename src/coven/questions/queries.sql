-- name: all
-- Every question of a project, oldest first.
SELECT id, task_id, agent_id, run_id, type, prompt, options, status, response, responded_by,
  responded_at, resolved_at, created_at
FROM kb.questions
WHERE project_id = :project
ORDER BY created_at, id;
