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

INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000101', '019000e0-0000-7000-8000-000000000011', 'completed', '2030-01-31 00:01:00.123456+00', 1000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:01:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000102', '019000e0-0000-7000-8000-000000000010', 'failed', '2030-01-31 00:02:00.123456+00', 2000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:02:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000103', '019000e0-0000-7000-8000-000000000011', 'paused', '2030-01-31 00:03:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:03:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000104', '019000e0-0000-7000-8000-000000000010', 'cancelled', '2030-01-31 00:04:00.123456+00', 4000, '{"text": "50 % done: ‘naïve’ 完成 \"x\"", "files": [1, 2.5, null]}', NULL, '2030-01-31 00:04:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000105', '019000e0-0000-7000-8000-000000000011', 'skipped', '2030-01-31 00:05:00.123456+00', NULL, '{}', 'nothing to do', '2030-01-31 00:05:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000106', '019000e0-0000-7000-8000-000000000010', 'running', '2030-01-31 00:06:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:06:00+00');
INSERT INTO kb.agent_runs VALUES ('019000e0-0000-7000-8000-000000000107', '019000e0-0000-7000-8000-000000000011', 'queued', '2030-01-31 00:07:00.123456+00', NULL, '{}', NULL, '2030-01-31 00:07:00+00');

INSERT INTO kb.event_head VALUES ('default', '5eed5eed', 2, 0, '2030-01-31 00:02:00+00');

INSERT INTO kb.events VALUES ('default', 1, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:01:00+00', '{}');
INSERT INTO kb.events VALUES ('default', 2, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:02:00+00', '{}');

INSERT INTO kb.meta VALUES ('migration.0001', '{"name": "store", "sha256": "def18b1922bda77edbec8729b61075c797edd81cd6df27654cb797be01099b00", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('created_at', '2030-01-31T12:00:00.000000Z');
INSERT INTO kb.meta VALUES ('migration.0002', '{"name": "runs", "sha256": "6796fcef3c8d32a02634ec3be301a552af7028e726cc49b5e12ac8609cdd462d", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('schema_version', '2');

ALTER TABLE ONLY kb.agent_runs
    ADD CONSTRAINT agent_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY kb.event_head
    ADD CONSTRAINT event_head_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY kb.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (project_id, seq);

ALTER TABLE ONLY kb.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, principal, key);

ALTER TABLE ONLY kb.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);

CREATE INDEX agent_runs_by_agent ON kb.agent_runs USING btree (agent_id, created_at, id);

CREATE INDEX idempotency_keys_by_age ON kb.idempotency_keys USING btree (project_id, created_at);
