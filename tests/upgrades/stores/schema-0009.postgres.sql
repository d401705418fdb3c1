SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA kb;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE kb.agent_runs (
    id uuid NOT NULL,
    agent_id uuid NOT NULL,
    status text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms bigint,
    summary jsonb DEFAULT '{}'::jsonb NOT NULL,
    skip_reason text,
    created_at timestamp with time zone NOT NULL,
    parent_run_id uuid,
    step_count integer DEFAULT 0 NOT NULL,
    max_steps integer,
    resumed_from uuid,
    error_message text,
    completed_at timestamp with time zone,
    project_id text DEFAULT 'default'::text NOT NULL,
    node_id text,
    CONSTRAINT agent_runs_check CHECK ((parent_run_id <> id)),
    CONSTRAINT agent_runs_check1 CHECK ((resumed_from <> id)),
    CONSTRAINT agent_runs_duration_ms_check CHECK ((duration_ms >= 0)),
    CONSTRAINT agent_runs_max_steps_check CHECK ((max_steps > 0)),
    CONSTRAINT agent_runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'skipped'::text]))),
    CONSTRAINT agent_runs_step_count_check CHECK ((step_count >= 0))
);

CREATE TABLE kb.agent_workspaces (
    id uuid NOT NULL,
    project_id text NOT NULL,
    node_id text NOT NULL,
    name text,
    agent_session_id text,
    generation bigint DEFAULT 0 NOT NULL,
    container_type text NOT NULL,
    provider text NOT NULL,
    provider_workspace_id text DEFAULT ''::text NOT NULL,
    repository_url text,
    branch text,
    deployment_mode text DEFAULT 'self-hosted'::text NOT NULL,
    lifecycle text DEFAULT 'ephemeral'::text NOT NULL,
    status text DEFAULT 'creating'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    resource_limits jsonb DEFAULT '{}'::jsonb NOT NULL,
    snapshot_id text,
    mcp_config jsonb,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT agent_workspaces_check CHECK (((agent_session_id IS NULL) OR (generation > 0))),
    CONSTRAINT agent_workspaces_check1 CHECK (((agent_session_id IS NULL) OR (status <> 'destroyed'::text))),
    CONSTRAINT agent_workspaces_check2 CHECK (((container_type <> 'mcp_server'::text) OR ((lifecycle = 'persistent'::text) AND (expires_at IS NULL)))),
    CONSTRAINT agent_workspaces_check3 CHECK (((container_type = 'mcp_server'::text) = (mcp_config IS NOT NULL))),
    CONSTRAINT agent_workspaces_container_type_check CHECK ((container_type = ANY (ARRAY['agent_workspace'::text, 'mcp_server'::text, 'worktree'::text, 'unit'::text]))),
    CONSTRAINT agent_workspaces_deployment_mode_check CHECK ((deployment_mode = ANY (ARRAY['managed'::text, 'self-hosted'::text]))),
    CONSTRAINT agent_workspaces_generation_check CHECK ((generation >= 0)),
    CONSTRAINT agent_workspaces_lifecycle_check CHECK ((lifecycle = ANY (ARRAY['ephemeral'::text, 'persistent'::text]))),
    CONSTRAINT agent_workspaces_provider_check CHECK ((provider <> ''::text)),
    CONSTRAINT agent_workspaces_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'ready'::text, 'stopping'::text, 'stopped'::text, 'resuming'::text, 'error'::text, 'destroying'::text, 'destroyed'::text])))
);

CREATE TABLE kb.agents (
    id uuid NOT NULL,
    project_id text NOT NULL,
    node_id text NOT NULL,
    task_id uuid NOT NULL,
    step_task_id text,
    status text NOT NULL,
    liveness text DEFAULT 'unknown'::text NOT NULL,
    activity text,
    recovered smallint DEFAULT 0 NOT NULL,
    worktree text,
    branch text,
    pid bigint,
    exit_code integer,
    error text,
    output_file text,
    line_count bigint DEFAULT 0 NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT agents_activity_check CHECK ((activity = ANY (ARRAY['busy'::text, 'waiting_input'::text, 'idle'::text, 'parked'::text]))),
    CONSTRAINT agents_check CHECK (((status <> 'running'::text) OR ((pid IS NOT NULL) AND (started_at IS NOT NULL)))),
    CONSTRAINT agents_check1 CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text, 'killed'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT agents_check2 CHECK (((exit_code IS NULL) OR (ended_at IS NOT NULL))),
    CONSTRAINT agents_last_seq_check CHECK ((last_seq >= 0)),
    CONSTRAINT agents_line_count_check CHECK ((line_count >= 0)),
    CONSTRAINT agents_liveness_check CHECK ((liveness = ANY (ARRAY['alive'::text, 'dead'::text, 'unknown'::text]))),
    CONSTRAINT agents_pid_check CHECK ((pid > 0)),
    CONSTRAINT agents_recovered_check CHECK ((recovered = ANY (ARRAY[0, 1]))),
    CONSTRAINT agents_status_check CHECK ((status = ANY (ARRAY['starting'::text, 'running'::text, 'completed'::text, 'failed'::text, 'killed'::text])))
);

CREATE TABLE kb.children (
    parent_id uuid NOT NULL,
    child_id uuid NOT NULL,
    project_id text NOT NULL
);

CREATE TABLE kb.event_head (
    project_id text NOT NULL,
    epoch text NOT NULL,
    seq bigint NOT NULL,
    floor bigint NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT event_head_check CHECK (((floor >= 0) AND (floor <= seq))),
    CONSTRAINT event_head_seq_check CHECK ((seq >= 0))
)
WITH (fillfactor='50');

CREATE TABLE kb.events (
    project_id text NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    "timestamp" timestamp with time zone NOT NULL,
    data jsonb NOT NULL
);

CREATE TABLE kb.idempotency_keys (
    project_id text NOT NULL,
    principal text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    resource_id text NOT NULL,
    status integer,
    reply text,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE kb.meta (
    key text NOT NULL,
    value text NOT NULL
);

CREATE TABLE kb.notifications (
    project_id text NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    body text,
    subject text,
    created_at timestamp with time zone NOT NULL,
    read_at timestamp with time zone
);

CREATE TABLE kb.questions (
    id uuid NOT NULL,
    project_id text NOT NULL,
    task_id uuid,
    agent_id uuid,
    run_id uuid,
    type text NOT NULL,
    prompt text NOT NULL,
    options jsonb DEFAULT '[]'::jsonb NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    response text,
    responded_by text,
    responded_at timestamp with time zone,
    resolved_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT questions_check CHECK (((status = ANY (ARRAY['answered'::text, 'resolved'::text])) = (responded_at IS NOT NULL))),
    CONSTRAINT questions_check1 CHECK (((response IS NULL) = (responded_at IS NULL))),
    CONSTRAINT questions_check2 CHECK (((responded_by IS NULL) OR (responded_at IS NOT NULL))),
    CONSTRAINT questions_check3 CHECK (((status = 'resolved'::text) = (resolved_at IS NOT NULL))),
    CONSTRAINT questions_prompt_check CHECK ((prompt <> ''::text)),
    CONSTRAINT questions_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'answered'::text, 'resolved'::text, 'expired'::text, 'cancelled'::text]))),
    CONSTRAINT questions_type_check CHECK ((type = ANY (ARRAY['clarification'::text, 'permission'::text, 'decision'::text, 'blocked'::text])))
);

CREATE TABLE kb.tags (
    task_id uuid NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C",
    project_id text NOT NULL,
    CONSTRAINT tags_tag_check CHECK ((tag <> ''::text))
);

CREATE TABLE kb.task_history (
    id uuid NOT NULL,
    project_id text NOT NULL,
    task_id uuid NOT NULL,
    field text NOT NULL,
    old_value text,
    new_value text,
    changed_at timestamp with time zone NOT NULL,
    changed_by text NOT NULL,
    reason text,
    CONSTRAINT task_history_field_check CHECK ((field <> ''::text))
);

CREATE TABLE kb.task_questions (
    task_id uuid NOT NULL,
    question_id uuid NOT NULL,
    project_id text NOT NULL
);

CREATE TABLE kb.tasks (
    id uuid NOT NULL,
    project_id text NOT NULL,
    parent_id uuid,
    depth integer DEFAULT 0 NOT NULL,
    title text NOT NULL,
    body text DEFAULT ''::text NOT NULL,
    type text DEFAULT 'task'::text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    priority smallint DEFAULT 2 NOT NULL,
    claimed_by text,
    claimed_at timestamp with time zone,
    claim_expires_at timestamp with time zone,
    fence bigint DEFAULT 0 NOT NULL,
    grimoire_hint text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    deleted_at timestamp with time zone,
    CONSTRAINT tasks_check CHECK ((parent_id <> id)),
    CONSTRAINT tasks_check1 CHECK (((parent_id IS NULL) = (depth = 0))),
    CONSTRAINT tasks_check2 CHECK (((claimed_by IS NULL) = (claimed_at IS NULL))),
    CONSTRAINT tasks_check3 CHECK (((claimed_by IS NULL) = (claim_expires_at IS NULL))),
    CONSTRAINT tasks_check4 CHECK (((status <> 'open'::text) OR (claimed_by IS NULL))),
    CONSTRAINT tasks_check5 CHECK (((status <> 'in_progress'::text) OR (claimed_by IS NOT NULL))),
    CONSTRAINT tasks_check6 CHECK (((status = 'closed'::text) = (closed_at IS NOT NULL))),
    CONSTRAINT tasks_check7 CHECK (((deleted_at IS NULL) OR (status = ANY (ARRAY['open'::text, 'blocked'::text, 'closed'::text])))),
    CONSTRAINT tasks_depth_check CHECK ((depth >= 0)),
    CONSTRAINT tasks_fence_check CHECK ((fence >= 0)),
    CONSTRAINT tasks_priority_check CHECK (((priority >= 0) AND (priority <= 4))),
    CONSTRAINT tasks_status_check CHECK ((status = ANY (ARRAY['open'::text, 'in_progress'::text, 'pending_merge'::text, 'blocked'::text, 'closed'::text]))),
    CONSTRAINT tasks_title_check CHECK ((title <> ''::text)),
    CONSTRAINT tasks_type_check CHECK ((type = ANY (ARRAY['task'::text, 'feature'::text, 'bug'::text])))
);

CREATE TABLE kb.tokens (
    project_id text NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    scope text NOT NULL,
    hash text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT tokens_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'work'::text, 'admin'::text])))
);

CREATE TABLE kb.workflows (
    task_id uuid NOT NULL,
    workflow_id uuid NOT NULL,
    project_id text NOT NULL,
    grimoire_name text NOT NULL,
    current_step integer DEFAULT 0 NOT NULL,
    status text NOT NULL,
    completed_steps jsonb DEFAULT '{}'::jsonb NOT NULL,
    step_outputs jsonb DEFAULT '{}'::jsonb NOT NULL,
    active_agent_id uuid,
    error text,
    blocked_reason text,
    started_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT workflows_check CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text])) = (completed_at IS NOT NULL))),
    CONSTRAINT workflows_check1 CHECK (((status <> 'blocked'::text) OR (blocked_reason IS NOT NULL))),
    CONSTRAINT workflows_current_step_check CHECK ((current_step >= 0)),
    CONSTRAINT workflows_status_check CHECK ((status = ANY (ARRAY['running'::text, 'pending_merge'::text, 'blocked'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);

INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000101', '019000e0-0000-7000-8000-000000000011', 'completed', '2030-01-31 00:01:00.123456+00', 1000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:01:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000102', '019000e0-0000-7000-8000-000000000010', 'failed', '2030-01-31 00:02:00.123456+00', 2000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:02:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000103', '019000e0-0000-7000-8000-000000000011', 'paused', '2030-01-31 00:03:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:03:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000104', '019000e0-0000-7000-8000-000000000010', 'cancelled', '2030-01-31 00:04:00.123456+00', 4000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:04:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000105', '019000e0-0000-7000-8000-000000000011', 'skipped', '2030-01-31 00:05:00.123456+00', NULL, '{}', 'nothing to do', '2030-01-31 00:05:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000106', '019000e0-0000-7000-8000-000000000010', 'running', '2030-01-31 00:06:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:06:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000107', '019000e0-0000-7000-8000-000000000011', 'queued', '2030-01-31 00:07:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:07:00+00', NULL, 0, NULL, NULL, NULL, NULL, 'default', NULL);
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000120', '019000e0-0000-7000-8000-000000000010', 'failed', '2030-01-31 00:50:00+00', 60000, '{}', NULL, '2030-01-31 00:50:00+00', '019000e0-0000-7000-8000-000000000101', 46, 50, '019000e0-0000-7000-8000-000000000103', 'the model was not there', '2030-01-31 00:51:00+00', 'default', 'node-1');

INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000201', 'default', 'node-1', 'workspace 1', NULL, 0, 'agent_workspace', 'local', 'instance-1', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'creating', '2030-01-31 00:01:00+00', '2030-01-31 01:01:00+00', '2030-01-31 02:01:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000202', 'default', 'node-1', NULL, 'agent-7', 3, 'agent_workspace', 'local', 'instance-2', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'ready', '2030-01-31 00:02:00+00', '2030-01-31 01:02:00+00', '2030-01-31 02:02:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000203', 'default', 'node-1', 'workspace 3', NULL, 0, 'agent_workspace', 'local', 'instance-3', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'stopping', '2030-01-31 00:03:00+00', '2030-01-31 01:03:00+00', '2030-01-31 02:03:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000204', 'default', 'node-1', NULL, NULL, 0, 'agent_workspace', 'local', 'instance-4', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'stopped', '2030-01-31 00:04:00+00', '2030-01-31 01:04:00+00', '2030-01-31 02:04:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000205', 'default', 'node-1', 'workspace 5', NULL, 0, 'agent_workspace', 'local', 'instance-5', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'resuming', '2030-01-31 00:05:00+00', '2030-01-31 01:05:00+00', '2030-01-31 02:05:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000206', 'default', 'node-1', NULL, NULL, 0, 'agent_workspace', 'local', 'instance-6', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'error', '2030-01-31 00:06:00+00', '2030-01-31 01:06:00+00', '2030-01-31 02:06:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000207', 'default', 'node-1', 'workspace 7', NULL, 0, 'agent_workspace', 'local', 'instance-7', 'https://example.org/repository.git', 'main', 'self-hosted', 'ephemeral', 'destroyed', '2030-01-31 00:07:00+00', '2030-01-31 01:07:00+00', '2030-01-31 02:07:00+00', '{"cpu": "2", "disk": "10G", "memory": "4G"}', NULL, NULL, '{}');
INSERT INTO kb.agent_workspaces VALUES ('019000e0-0000-7000-8000-000000000210', 'default', 'node-1', NULL, NULL, 0, 'mcp_server', 'gvisor', '', NULL, NULL, 'self-hosted', 'persistent', 'ready', '2030-01-31 00:08:00+00', '2030-01-31 00:08:00+00', NULL, '{}', NULL, '{"name": "notes", "command": ["notes"], "restart_policy": "always"}', '{}');

INSERT INTO kb.agents VALUES ('019000e0-0000-7000-8000-000000000301', 'default', 'node-1', '019000e0-0000-7000-8000-000000000501', NULL, 'starting', 'unknown', NULL, 0, 'worktrees/1', 'coven/1', NULL, NULL, NULL, 'output/1.jsonl', 0, 0, '2030-01-31 00:01:00+00', NULL, NULL);
INSERT INTO kb.agents VALUES ('019000e0-0000-7000-8000-000000000302', 'default', 'node-1', '019000e0-0000-7000-8000-000000000502', NULL, 'running', 'unknown', NULL, 0, 'worktrees/2', 'coven/2', 4002, NULL, NULL, 'output/2.jsonl', 0, 0, '2030-01-31 00:02:00+00', '2030-01-31 00:02:00+00', NULL);
INSERT INTO kb.agents VALUES ('019000e0-0000-7000-8000-000000000303', 'default', 'node-1', '019000e0-0000-7000-8000-000000000503', NULL, 'completed', 'dead', NULL, 0, 'worktrees/3', 'coven/3', 4003, NULL, NULL, 'output/3.jsonl', 0, 0, '2030-01-31 00:03:00+00', '2030-01-31 00:03:00+00', '2030-01-31 00:33:00+00');
INSERT INTO kb.agents VALUES ('019000e0-0000-7000-8000-000000000304', 'default', 'node-1', '019000e0-0000-7000-8000-000000000504', NULL, 'failed', 'dead', NULL, 0, 'worktrees/4', 'coven/4', 4004, 4, 'daemon restarted', 'output/4.jsonl', 0, 0, '2030-01-31 00:04:00+00', '2030-01-31 00:04:00+00', '2030-01-31 00:34:00+00');
INSERT INTO kb.agents VALUES ('019000e0-0000-7000-8000-000000000305', 'default', 'node-1', '019000e0-0000-7000-8000-000000000505', NULL, 'killed', 'dead', NULL, 0, 'worktrees/5', 'coven/5', 4005, NULL, NULL, 'output/5.jsonl', 0, 0, '2030-01-31 00:05:00+00', '2030-01-31 00:05:00+00', '2030-01-31 00:35:00+00');

INSERT INTO kb.children VALUES ('019000e0-0000-7000-8000-000000000501', '019000e0-0000-7000-8000-000000000502', 'default');
INSERT INTO kb.children VALUES ('019000e0-0000-7000-8000-000000000501', '019000e0-0000-7000-8000-000000000503', 'default');
INSERT INTO kb.children VALUES ('019000e0-0000-7000-8000-000000000501', '019000e0-0000-7000-8000-000000000504', 'default');
INSERT INTO kb.children VALUES ('019000e0-0000-7000-8000-000000000501', '019000e0-0000-7000-8000-000000000505', 'default');

INSERT INTO kb.event_head VALUES ('default', '5eed5eed', 2, 0, '2030-01-31 00:02:00+00');

INSERT INTO kb.events VALUES ('default', 1, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:01:00+00', '{}');
INSERT INTO kb.events VALUES ('default', 2, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:02:00+00', '{}');

INSERT INTO kb.meta VALUES ('migration.0001', '{"name": "store", "sha256": "def18b1922bda77edbec8729b61075c797edd81cd6df27654cb797be01099b00", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('created_at', '2030-01-31T12:00:00.000000Z');
INSERT INTO kb.meta VALUES ('migration.0002', '{"name": "runs", "sha256": "6796fcef3c8d32a02634ec3be301a552af7028e726cc49b5e12ac8609cdd462d", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0003', '{"name": "workspaces", "sha256": "bbc154788d025bc4e1f3f032cc633b0815c3d451a3739be2e79d2c34a84406cf", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0004', '{"name": "agents", "sha256": "9142d931b9de4b9935f0c050d532b454419266aabe77a32d17b94c7b7211a861", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0005', '{"name": "questions", "sha256": "5ddbcc50525ffeb76fb786390bed23d570e504aca31f8507ad066225f03c6ad2", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0006', '{"name": "notifications", "sha256": "be996ebe64f1e62d0594ae62b1d04ff2a167e6119d891740cd4198f3d3fd70c5", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0007', '{"name": "tokens", "sha256": "d971a9f49c7377b56b98bc8c8d27be0a17a908ff5720777529ec67cd377e2199", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0008', '{"name": "tasks", "sha256": "f5416f14aadc2290c18255b0ee7ba76e5afaa40b155cee97da3b8ab9708df415", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('migration.0009', '{"name": "resumable_runs", "sha256": "9e5d1537dae87650cd7c060a4bef2b15d425d00726dfcb2f54c005b6b2638dd0", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('schema_version', '9');

INSERT INTO kb.notifications VALUES ('default', '019000e0-0000-7000-8000-000000000601', 'agent.failed', 'Agent 1 failed', NULL, NULL, '2030-01-31 00:01:00+00', NULL);
INSERT INTO kb.notifications VALUES ('default', '019000e0-0000-7000-8000-000000000602', 'agent.failed', 'Agent 2 failed', NULL, NULL, '2030-01-31 00:02:00+00', '2030-01-31 00:30:00+00');

INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000401', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'pending', NULL, NULL, NULL, NULL, '2030-01-31 00:01:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000402', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'answered', 'a', 'user', '2030-01-31 00:40:00+00', NULL, '2030-01-31 00:02:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000403', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'resolved', 'a', 'user', '2030-01-31 00:40:00+00', '2030-01-31 00:41:00+00', '2030-01-31 00:03:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000404', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'expired', NULL, NULL, NULL, NULL, '2030-01-31 00:04:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000405', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'cancelled', NULL, NULL, NULL, NULL, '2030-01-31 00:05:00+00');

INSERT INTO kb.tags VALUES ('019000e0-0000-7000-8000-000000000501', 'grimoire:Ünïcode', 'default');

INSERT INTO kb.task_history VALUES ('019000e0-0000-7000-8000-000000000510', 'default', '019000e0-0000-7000-8000-000000000502', 'status', 'open', 'in_progress', '2030-01-31 00:10:00+00', 'agent-7', NULL);

INSERT INTO kb.task_questions VALUES ('019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000401', 'default');

INSERT INTO kb.tasks VALUES ('019000e0-0000-7000-8000-000000000501', 'default', NULL, 0, 'Task 1', '100 % «done»
with a second line', 'task', 'open', 0, NULL, NULL, NULL, 0, NULL, '2030-01-31 00:01:00+00', '2030-01-31 00:31:00+00', NULL, NULL);
INSERT INTO kb.tasks VALUES ('019000e0-0000-7000-8000-000000000502', 'default', '019000e0-0000-7000-8000-000000000501', 1, 'Task 2', '100 % «done»
with a second line', 'bug', 'in_progress', 1, 'agent-7', '2030-01-31 00:10:00+00', '2030-01-31 00:40:00+00', 1, NULL, '2030-01-31 00:02:00+00', '2030-01-31 00:32:00+00', NULL, NULL);
INSERT INTO kb.tasks VALUES ('019000e0-0000-7000-8000-000000000503', 'default', '019000e0-0000-7000-8000-000000000501', 1, 'Task 3', '100 % «done»
with a second line', 'task', 'pending_merge', 2, 'agent-7', '2030-01-31 00:10:00+00', '2030-01-31 00:40:00+00', 1, NULL, '2030-01-31 00:03:00+00', '2030-01-31 00:33:00+00', NULL, NULL);
INSERT INTO kb.tasks VALUES ('019000e0-0000-7000-8000-000000000504', 'default', '019000e0-0000-7000-8000-000000000501', 1, 'Task 4', '100 % «done»
with a second line', 'task', 'blocked', 3, NULL, NULL, NULL, 0, NULL, '2030-01-31 00:04:00+00', '2030-01-31 00:34:00+00', NULL, NULL);
INSERT INTO kb.tasks VALUES ('019000e0-0000-7000-8000-000000000505', 'default', '019000e0-0000-7000-8000-000000000501', 1, 'Task 5', '100 % «done»
with a second line', 'task', 'closed', 4, NULL, NULL, NULL, 0, NULL, '2030-01-31 00:05:00+00', '2030-01-31 00:35:00+00', '2030-01-31 00:35:00+00', NULL);

INSERT INTO kb.tokens VALUES ('default', '019000e0-0000-7000-8000-000000000700', 'laptop', 'read', '0000000000000000000000000000000000000000000000000000000000000000', '2030-01-31 00:01:00+00', 'user', NULL);

INSERT INTO kb.workflows VALUES ('019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000520', 'default', 'implement', 1, 'running', '{"plan": {"success": true}}', '{}', '019000e0-0000-7000-8000-000000000302', NULL, NULL, '2030-01-31 00:10:00+00', '2030-01-31 00:11:00+00', NULL);

ALTER TABLE ONLY kb.agent_runs
    ADD CONSTRAINT agent_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.agent_workspaces
    ADD CONSTRAINT agent_workspaces_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.children
    ADD CONSTRAINT children_child_id_key UNIQUE (child_id);

ALTER TABLE ONLY kb.children
    ADD CONSTRAINT children_pkey PRIMARY KEY (parent_id, child_id);

ALTER TABLE ONLY kb.event_head
    ADD CONSTRAINT event_head_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY kb.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (project_id, seq);

ALTER TABLE ONLY kb.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, principal, key);

ALTER TABLE ONLY kb.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);

ALTER TABLE ONLY kb.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (project_id, id);

ALTER TABLE ONLY kb.questions
    ADD CONSTRAINT questions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.tags
    ADD CONSTRAINT tags_pkey PRIMARY KEY (task_id, tag);

ALTER TABLE ONLY kb.task_history
    ADD CONSTRAINT task_history_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.task_questions
    ADD CONSTRAINT task_questions_pkey PRIMARY KEY (task_id, question_id);

ALTER TABLE ONLY kb.task_questions
    ADD CONSTRAINT task_questions_question_id_key UNIQUE (question_id);

ALTER TABLE ONLY kb.tasks
    ADD CONSTRAINT tasks_parent_id_id_key UNIQUE (parent_id, id);

ALTER TABLE ONLY kb.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (project_id, id);

ALTER TABLE ONLY kb.workflows
    ADD CONSTRAINT workflows_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY kb.workflows
    ADD CONSTRAINT workflows_workflow_id_key UNIQUE (workflow_id);

CREATE INDEX agent_runs_by_age ON kb.agent_runs USING btree (project_id, created_at, id);

CREATE INDEX agent_runs_by_agent ON kb.agent_runs USING btree (project_id, agent_id, created_at, id);

CREATE INDEX agent_runs_by_parent ON kb.agent_runs USING btree (parent_run_id, created_at, id) WHERE (parent_run_id IS NOT NULL);

CREATE INDEX agent_runs_by_status ON kb.agent_runs USING btree (project_id, status, created_at, id);

CREATE INDEX agent_runs_live ON kb.agent_runs USING btree (node_id, id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE UNIQUE INDEX agent_runs_resumed_once ON kb.agent_runs USING btree (resumed_from) WHERE (resumed_from IS NOT NULL);

CREATE INDEX agent_workspaces_by_age ON kb.agent_workspaces USING btree (project_id, created_at, id);

CREATE INDEX agent_workspaces_by_expiry ON kb.agent_workspaces USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX agent_workspaces_by_holder ON kb.agent_workspaces USING btree (project_id, agent_session_id) WHERE (agent_session_id IS NOT NULL);

CREATE INDEX agent_workspaces_by_node ON kb.agent_workspaces USING btree (node_id, status) WHERE (status <> 'destroyed'::text);

CREATE INDEX agent_workspaces_by_status ON kb.agent_workspaces USING btree (project_id, status, created_at, id);

CREATE INDEX agent_workspaces_servers ON kb.agent_workspaces USING btree (node_id, status) WHERE ((container_type = 'mcp_server'::text) AND (lifecycle = 'persistent'::text));

CREATE UNIQUE INDEX agents_alone_in_worktree ON kb.agents USING btree (node_id, worktree) WHERE ((worktree IS NOT NULL) AND (status = ANY (ARRAY['starting'::text, 'running'::text])));

CREATE INDEX agents_by_age ON kb.agents USING btree (project_id, created_at, id);

CREATE INDEX agents_by_status ON kb.agents USING btree (project_id, status, created_at, id);

CREATE INDEX agents_by_task ON kb.agents USING btree (task_id, created_at, id);

CREATE INDEX agents_live ON kb.agents USING btree (node_id, id) WHERE (status = ANY (ARRAY['starting'::text, 'running'::text]));

CREATE INDEX idempotency_keys_by_age ON kb.idempotency_keys USING btree (project_id, created_at);

CREATE INDEX notifications_by_kind ON kb.notifications USING btree (project_id, kind, id);

CREATE INDEX notifications_unread ON kb.notifications USING btree (project_id, id) WHERE (read_at IS NULL);

CREATE INDEX questions_by_age ON kb.questions USING btree (project_id, created_at, id);

CREATE INDEX questions_by_agent ON kb.questions USING btree (agent_id) WHERE (agent_id IS NOT NULL);

CREATE INDEX questions_by_run ON kb.questions USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE INDEX questions_by_status ON kb.questions USING btree (project_id, status, created_at, id);

CREATE INDEX questions_by_task ON kb.questions USING btree (task_id) WHERE (task_id IS NOT NULL);

CREATE INDEX tags_by_tag ON kb.tags USING btree (project_id, tag, task_id);

CREATE INDEX task_history_by_task ON kb.task_history USING btree (task_id, changed_at, id);

CREATE INDEX tasks_by_age ON kb.tasks USING btree (project_id, created_at, id);

CREATE INDEX tasks_by_holder ON kb.tasks USING btree (project_id, claimed_by, created_at, id) WHERE (claimed_by IS NOT NULL);

CREATE INDEX tasks_by_status ON kb.tasks USING btree (project_id, status, created_at, id);

CREATE INDEX tasks_claimed ON kb.tasks USING btree (project_id, claim_expires_at, id) WHERE (claimed_by IS NOT NULL);

CREATE INDEX tasks_deleted ON kb.tasks USING btree (project_id, deleted_at, id) WHERE (deleted_at IS NOT NULL);

CREATE INDEX tasks_ready ON kb.tasks USING btree (project_id, priority, created_at, id) WHERE ((status = 'open'::text) AND (deleted_at IS NULL));

CREATE INDEX tasks_to_delete ON kb.tasks USING btree (project_id, closed_at, id) WHERE ((closed_at IS NOT NULL) AND (deleted_at IS NULL));

CREATE UNIQUE INDEX tokens_by_hash ON kb.tokens USING btree (hash);

CREATE INDEX workflows_by_age ON kb.workflows USING btree (project_id, started_at, workflow_id);

CREATE INDEX workflows_by_agent ON kb.workflows USING btree (active_agent_id) WHERE (active_agent_id IS NOT NULL);

CREATE INDEX workflows_by_status ON kb.workflows USING btree (project_id, status, started_at, workflow_id);

CREATE INDEX workflows_ended ON kb.workflows USING btree (project_id, completed_at) WHERE (completed_at IS NOT NULL);

ALTER TABLE ONLY kb.agent_runs
    ADD CONSTRAINT agent_runs_parent_run_id_fkey FOREIGN KEY (parent_run_id) REFERENCES kb.agent_runs(id) ON DELETE SET NULL;

ALTER TABLE ONLY kb.agent_runs
    ADD CONSTRAINT agent_runs_resumed_from_fkey FOREIGN KEY (resumed_from) REFERENCES kb.agent_runs(id) ON DELETE SET NULL;

ALTER TABLE ONLY kb.children
    ADD CONSTRAINT children_parent_id_child_id_fkey FOREIGN KEY (parent_id, child_id) REFERENCES kb.tasks(parent_id, id) ON UPDATE CASCADE ON DELETE CASCADE;

ALTER TABLE ONLY kb.tags
    ADD CONSTRAINT tags_task_id_fkey FOREIGN KEY (task_id) REFERENCES kb.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY kb.task_history
    ADD CONSTRAINT task_history_task_id_fkey FOREIGN KEY (task_id) REFERENCES kb.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY kb.task_questions
    ADD CONSTRAINT task_questions_question_id_fkey FOREIGN KEY (question_id) REFERENCES kb.questions(id) ON DELETE CASCADE;

ALTER TABLE ONLY kb.task_questions
    ADD CONSTRAINT task_questions_task_id_fkey FOREIGN KEY (task_id) REFERENCES kb.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY kb.tasks
    ADD CONSTRAINT tasks_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES kb.tasks(id);

ALTER TABLE ONLY kb.workflows
    ADD CONSTRAINT workflows_active_agent_id_fkey FOREIGN KEY (active_agent_id) REFERENCES kb.agents(id) ON DELETE SET NULL;

ALTER TABLE ONLY kb.workflows
    ADD CONSTRAINT workflows_task_id_fkey FOREIGN KEY (task_id) REFERENCES kb.tasks(id) ON DELETE CASCADE;
