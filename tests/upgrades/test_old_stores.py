"""Stores of earlier schemas, kept as files, are opened by the code of today on both engines."""

import pytest

from coven.agents import records as agents
from coven.core.clock import SystemClock
from coven.daemon.rooms import ROOMS
from coven.questions import records as questions
from coven.store import open_store
from coven.store.migrations import SchemaDiffers, SchemaTooNew, discover
from coven.tasks import records as tasks
from tests.upgrades import old_stores

NEWEST = len(discover(ROOMS, "sqlite"))


@pytest.fixture(params=old_stores.SCHEMAS, ids=lambda schema: f"schema-{schema:04}")
def schema(request: pytest.FixtureRequest, store_url: str) -> int:
    """An old store stands at `store_url`; this is its schema."""
    old_stores.place(request.param, store_url)
    return request.param


async def test_every_row_of_an_old_store_keeps_its_values(
    schema: int, store_url: str, clock: SystemClock
):
    before = old_stores.rows(store_url)
    opened = await open_store(store_url, clock=clock, rooms=ROOMS)
    problems = await opened.check()
    await opened.close()

    after = old_stores.rows(store_url)
    meta = {row["key"]: row["value"] for row in after.pop("meta")}
    noted = {row["key"]: row["value"] for row in before.pop("meta")}
    assert problems == []
    assert noted.pop("schema_version") == str(schema)
    assert meta["schema_version"] == str(NEWEST)
    assert noted.items() <= meta.items()
    assert any(before.values())
    for table, rows in before.items():
        names = rows[0] if rows else ()
        kept = [{name: row[name] for name in names} for row in after[table]]
        assert sorted(kept, key=str) == rows, table


async def test_an_old_store_opens_a_second_time_without_a_change(
    schema: int, store_url: str, clock: SystemClock
):
    await (await open_store(store_url, clock=clock, rooms=ROOMS)).close()
    once = old_stores.rows(store_url)
    await (await open_store(store_url, clock=clock, rooms=ROOMS)).close()
    assert old_stores.rows(store_url) == once


async def test_what_stood_in_an_old_store_can_be_shown(
    schema: int, store_url: str, clock: SystemClock
):
    counts = {table: len(rows) for table, rows in old_stores.rows(store_url).items()}
    opened = await open_store(store_url, clock=clock, rooms=ROOMS)
    shown = {
        "tasks": await opened.read(tasks.tasks),
        "workflows": await opened.read(tasks.workflows),
        "agents": await opened.read(agents.all),
        "questions": await opened.read(questions.all),
    }
    await opened.close()
    assert {table: len(values) for table, values in shown.items()} == {
        table: counts.get(table, 0) for table in shown
    }


async def test_an_upgraded_store_has_the_columns_of_a_new_one(
    schema: int, store_url: str, clock: SystemClock, engine_name: str
):
    assert old_stores.SCHEMAS[-1] == NEWEST, "keep a store of the newest schema, too"
    await (await open_store(store_url, clock=clock, rooms=ROOMS)).close()
    tables = old_stores.rows(store_url)
    upgraded = {table: old_stores.columns(store_url, table) for table in tables}

    if engine_name == "postgres":
        old_stores.run(store_url, "DROP SCHEMA kb CASCADE")
    old_stores.place(NEWEST, store_url)
    assert upgraded == {
        table: old_stores.columns(store_url, table) for table in old_stores.rows(store_url)
    }


async def test_a_store_of_a_newer_schema_is_refused_and_left_as_it_is(
    schema: int, store_url: str, clock: SystemClock
):
    old_stores.run(store_url, "UPDATE kb.meta SET value = '999' WHERE key = 'schema_version'")
    before = old_stores.rows(store_url)
    with pytest.raises(SchemaTooNew):
        await open_store(store_url, clock=clock, rooms=ROOMS)
    assert old_stores.rows(store_url) == before


async def test_a_store_whose_migrations_had_another_text_is_refused(
    schema: int, store_url: str, clock: SystemClock
):
    other = '{"name": "store", "sha256": "0", "at": "2030-01-31T12:00:00.000000Z"}'
    old_stores.run(store_url, f"UPDATE kb.meta SET value = '{other}' WHERE key = 'migration.0001'")
    with pytest.raises(SchemaDiffers):
        await open_store(store_url, clock=clock, rooms=ROOMS)
