-- name: all
-- Every agent of a project, oldest first.
SELECT id, node_id, task_id, step_task_id, status, liveness, activity, recovered, worktree, branch,
  pid, exit_code, error, output_file, line_count, last_seq, created_at, started_at, ended_at
FROM kb.agents
WHERE project_id = :project
ORDER BY created_at, id;
