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

INSERT INTO kb.event_head VALUES ('default', '5eed5eed', 2, 0, '2030-01-31 00:02:00+00');

INSERT INTO kb.events VALUES ('default', 1, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:01:00+00', '{}');
INSERT INTO kb.events VALUES ('default', 2, 'daemon.recovered', 'daemon', 'node-1', '2030-01-31 00:02:00+00', '{}');

INSERT INTO kb.meta VALUES ('migration.0001', '{"name": "store", "sha256": "def18b1922bda77edbec8729b61075c797edd81cd6df27654cb797be01099b00", "at": "2030-01-31T12:00:00.000000Z"}');
INSERT INTO kb.meta VALUES ('schema_version', '1');
INSERT INTO kb.meta VALUES ('created_at', '2030-01-31T12:00:00.000000Z');

ALTER TABLE ONLY kb.event_head
    ADD CONSTRAINT event_head_pkey PRIMARY KEY (project_id);

ALTER TABLE ONLY kb.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (project_id, seq);

ALTER TABLE ONLY kb.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, principal, key);

ALTER TABLE ONLY kb.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);

CREATE INDEX idempotency_keys_by_age ON kb.idempotency_keys USING btree (project_id, created_at);
