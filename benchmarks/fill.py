"""Stores with a million rows, made in bulk with SQL behind the store's back.

What is made is what the rooms would have made: ids that rise with their times, events without gaps
whose last number stands in the head row. The times end now and begin 11 hours ago, so retention
leaves them alone.
"""

import time
from pathlib import Path

import apsw
import psycopg

from benchmarks import bare

STEP_MICROSECONDS = 40_000
EPOCH = "be9c4a11"

_HEAD = """
INSERT INTO kb.event_head (project_id, epoch, seq, floor, last_at)
VALUES ('default', '{epoch}', {count}, 0, {last})
ON CONFLICT (project_id) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq,
  last_at = excluded.last_at
"""
_NOTIFICATIONS = """
INSERT INTO kb.notifications (project_id, id, kind, title, body, created_at, read_at)
SELECT 'default', {id}, CASE n % 4 WHEN 0 THEN 'task.blocked' ELSE 'task.closed' END,
  '{title}', '{body}', {at}, CASE n % 2 WHEN 0 THEN {at} END FROM {numbers}
"""
_EVENTS = """
INSERT INTO kb.events (project_id, seq, type, entity, entity_id, timestamp, data)
SELECT 'default', n, 'user.notification', 'notification', {id_text}, {at},
  {data} FROM {numbers}
"""
_WORKSPACES = """
INSERT INTO kb.agent_workspaces
  (id, project_id, node_id, container_type, provider, status, created_at, last_used_at)
SELECT {id}, 'default', 'a-node', 'agent_workspace', 'local',
  CASE n % 3 WHEN 0 THEN 'ready' ELSE 'stopped' END, {at}, {at} FROM {numbers}
"""
_RUNS = """
INSERT INTO kb.agent_runs (id, agent_id, status, started_at, created_at, completed_at)
SELECT {id}, '0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e',
  CASE n % 3 WHEN 0 THEN 'paused' ELSE 'completed' END, {at}, {at}, {at}
FROM {numbers}
"""

_TEXTS = {
    "notifications": _NOTIFICATIONS,
    "events": _EVENTS,
    "workspaces": _WORKSPACES,
    "runs": _RUNS,
}


def fill(url: str, **counts: int) -> None:
    """Make so many `notifications`, `events`, `workspaces`, `runs`; the schema is there."""
    for table, count in counts.items():
        texts = [_TEXTS[table]] + ([_HEAD] if table == "events" else [])
        for text in texts:
            if url.startswith("sqlite:"):
                _on_sqlite(Path(url.removeprefix("sqlite:")), text, count)
            else:
                _on_postgres(url, text, count)
    if not url.startswith("sqlite:"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


def _first(count: int) -> int:
    return time.time_ns() // 1000 - count * STEP_MICROSECONDS


def _on_sqlite(path: Path, text: str, count: int) -> None:
    micros = f"({_first(count)} + n * {STEP_MICROSECONDS})"
    at = _sqlite_time(micros)
    ms = f"({micros} / 1000)"
    made = (
        f"printf('%08x-%04x-7%03x-8%03x-%012x', {ms} >> 16, {ms} & 65535, n & 4095, "
        "(n >> 12) & 4095, n)"
    )
    numbers = (
        f"(WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting "
        f"WHERE n < {count}) SELECT n FROM counting)"
    )
    data = f"json_object('id', {made}, 'kind', 'task.blocked', 'title', '{bare.TITLE}')"
    connection = apsw.Connection(":memory:")
    connection.execute("ATTACH ? AS kb", (str(path),))
    connection.execute("PRAGMA kb.synchronous=OFF")
    connection.execute(
        text.format(
            id=made,
            id_text=made,
            at=at,
            last=_sqlite_time(str(_first(count) + count * STEP_MICROSECONDS)),
            numbers=numbers,
            data=data,
            title=bare.TITLE,
            body=bare.BODY[:200],
            count=count,
            epoch=EPOCH,
        )
    )
    connection.execute("PRAGMA kb.wal_checkpoint(TRUNCATE)")
    connection.close()


def _sqlite_time(micros: str) -> str:
    seconds = f"strftime('%Y-%m-%dT%H:%M:%S', {micros} / 1000000, 'unixepoch')"
    return f"{seconds} || printf('.%06dZ', {micros} % 1000000)"


def _on_postgres(url: str, text: str, count: int) -> None:
    micros = f"({_first(count)} + n * {STEP_MICROSECONDS}::bigint)"
    ms = f"({micros} / 1000)"
    made = (
        f"(lpad(to_hex({ms}), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || "
        "lpad(to_hex((n >> 12) & 4095), 3, '0') || lpad(to_hex(n), 12, '0'))::uuid"
    )
    last = f"to_timestamp({_first(count) + count * STEP_MICROSECONDS} / 1000000.0)"
    data = f"jsonb_build_object('id', {made}, 'kind', 'task.blocked', 'title', '{bare.TITLE}')"
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute(
            text.format(
                id=made,
                id_text=f"({made})::text",
                at=f"to_timestamp({micros} / 1000000.0)",
                last=last,
                numbers=f"generate_series(1, {count}) AS counting (n)",
                data=data,
                title=bare.TITLE,
                body=bare.BODY[:200],
                count=count,
                epoch=EPOCH,
            ).encode()
        )
