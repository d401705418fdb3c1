-- name: tasks
-- Every task of a project that is not deleted, oldest first.
SELECT id, parent_id, depth, title, body, type, status, priority, claimed_by, claimed_at,
  claim_expires_at, grimoire_hint, created_at, updated_at, closed_at
FROM kb.tasks
WHERE project_id = :project AND deleted_at IS NULL
ORDER BY created_at, id;

-- name: tags
-- Every tag of every task of a project.
SELECT task_id, tag FROM kb.tags WHERE project_id = :project ORDER BY tag, task_id;

-- name: workflows
-- Every workflow of a project, oldest first.
SELECT workflow_id, task_id, grimoire_name, current_step, status, completed_steps, step_outputs,
  active_agent_id, error, blocked_reason, started_at, updated_at, completed_at
FROM kb.workflows
WHERE project_id = :project
ORDER BY started_at, workflow_id;
