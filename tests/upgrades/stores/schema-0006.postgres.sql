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
    CONSTRAINT agent_runs_duration_ms_check CHECK ((duration_ms >= 0)),
    CONSTRAINT agent_runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'paused'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'skipped'::text])))
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

INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000101', '019000e0-0000-7000-8000-000000000011', 'completed', '2030-01-31 00:01:00.123456+00', 1000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:01:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000102', '019000e0-0000-7000-8000-000000000010', 'failed', '2030-01-31 00:02:00.123456+00', 2000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:02:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000103', '019000e0-0000-7000-8000-000000000011', 'paused', '2030-01-31 00:03:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:03:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000104', '019000e0-0000-7000-8000-000000000010', 'cancelled', '2030-01-31 00:04:00.123456+00', 4000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:04:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000105', '019000e0-0000-7000-8000-000000000011', 'skipped', '2030-01-31 00:05:00.123456+00', NULL, '{}', 'nothing to do', '2030-01-31 00:05:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000106', '019000e0-0000-7000-8000-000000000010', 'running', '2030-01-31 00:06:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:06:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000107', '019000e0-0000-7000-8000-000000000011', 'queued', '2030-01-31 00:07:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:07:00+00');

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
INSERT INTO kb.meta VALUES ('schema_version', '6');

INSERT INTO kb.notifications VALUES ('default', '019000e0-0000-7000-8000-000000000601', 'agent.failed', 'Agent 1 failed', NULL, NULL, '2030-01-31 00:01:00+00', NULL);
INSERT INTO kb.notifications VALUES ('default', '019000e0-0000-7000-8000-000000000602', 'agent.failed', 'Agent 2 failed', NULL, NULL, '2030-01-31 00:02:00+00', '2030-01-31 00:30:00+00');

INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000401', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'pending', NULL, NULL, NULL, NULL, '2030-01-31 00:01:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000402', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'answered', 'a', 'user', '2030-01-31 00:40:00+00', NULL, '2030-01-31 00:02:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000403', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'resolved', 'a', 'user', '2030-01-31 00:40:00+00', '2030-01-31 00:41:00+00', '2030-01-31 00:03:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000404', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'expired', NULL, NULL, NULL, NULL, '2030-01-31 00:04:00+00');
INSERT INTO kb.questions VALUES ('019000e0-0000-7000-8000-000000000405', 'default', '019000e0-0000-7000-8000-000000000502', '019000e0-0000-7000-8000-000000000302', NULL, 'decision', 'Which one? «a» or “b”', '["a", {"label": "b", "value": 2}]', 'cancelled', NULL, NULL, NULL, NULL, '2030-01-31 00:05:00+00');

ALTER TABLE ONLY kb.agent_runs
    ADD CONSTRAINT agent_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.agent_workspaces
    ADD CONSTRAINT agent_workspaces_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

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

CREATE INDEX agent_runs_by_agent ON kb.agent_runs USING btree (agent_id, created_at, id);

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
