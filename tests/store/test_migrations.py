"""Migrations: applied once, in order, whole or not at all, and only to a schema that is ours."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from coven.core import clock as clocks
from coven.core import failpoints
from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.store import Transaction, migrations, open_store
from coven.store.engine import StatementRefused
from coven.store.queries import queries
from tests.contracts.store_contract import gaplessly, log_of
from tests.store import ledger

FIRST = ("coven.store",)
PHASE = "-- phase: expand\n-- A story.\n"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The migrations folder of a room that the test writes itself."""
    name = f"room_{abs(hash(request.node.name))}"
    folder = tmp_path / "rooms" / name / "migrations"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text('"""A room."""\n')
    monkeypatch.syspath_prepend(str(tmp_path / "rooms"))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    for engine in ("sqlite", "postgres"):
        (folder / f"{name}.{engine}.sql").write_text(PHASE + text)


async def notes(url: str, **changes: str) -> dict[str, str]:
    """What stands in `kb.meta`, after some changes."""

    def change(tx: Transaction) -> dict[str, str]:
        for key, value in changes.items():
            tx.run(queries["note"], key=key.replace("__", "."), value=value)
        return {row["key"]: row["value"] for row in tx.all(queries["meta"])}

    opened = await open_store(url, clock=SystemClock(), rooms=ledger.ROOMS)
    found = await opened.write(change)
    await opened.close()
    return found


async def reopen(url: str, rooms: tuple[str, ...] = ledger.ROOMS) -> None:
    await (await open_store(url, clock=SystemClock(), rooms=rooms)).close()


async def test_what_ran_is_written_down_with_its_checksum(store_url, engine_name):
    found = await notes(store_url)
    assert set(found) == {"created_at", "migration.0001", "migration.0002", "schema_version"}
    assert found["schema_version"] == "2"
    clocks.parse(found["created_at"])
    text = (Path(ledger.__file__).parent / f"migrations/0002_ledger.{engine_name}.sql").read_text()
    told = json.loads(found["migration.0002"])
    assert (told["name"], told["sha256"]) == ("ledger", hashlib.sha256(text.encode()).hexdigest())
    assert await notes(store_url) == found


async def test_a_newer_schema_is_refused_and_left_as_it_is(store_url):
    await notes(store_url, schema_version="3")
    with pytest.raises(CovenError) as caught:
        await reopen(store_url)
    assert (caught.value.code, caught.value.details) == ("SCHEMA_TOO_NEW", {"found": 3, "known": 2})


async def test_a_schema_that_another_build_made_is_refused(store_url):
    await notes(store_url, migration__0001='{"sha256":"other"}')
    with pytest.raises(CovenError) as caught:
        await reopen(store_url)
    assert (caught.value.code, caught.value.details) == ("SCHEMA_DIFFERS", {"number": 1})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schema_version": "two"}, "STORE_CORRUPT"),
        ({"schema_version": ""}, "STORE_CORRUPT"),
        ({"migration__0002": "{"}, "SCHEMA_DIFFERS"),
        ({"migration__0002": "[]"}, "SCHEMA_DIFFERS"),
        ({"migration__0002": "{}"}, "SCHEMA_DIFFERS"),
    ],
)
async def test_notes_that_cannot_be_read_are_told_and_not_guessed(store_url, changes, code):
    await notes(store_url, **changes)
    with pytest.raises(CovenError) as caught:
        await reopen(store_url)
    assert caught.value.code == code


async def test_an_upgrade_keeps_every_row_and_an_older_release_is_then_refused(store_url):
    opened = await open_store(store_url, clock=SystemClock(), rooms=FIRST)
    await opened.write(lambda tx: tx.emit(ledger.EntryAdded(entity_id="before")))
    await opened.close()
    opened = await open_store(store_url, clock=SystemClock(), rooms=ledger.ROOMS)
    await opened.write(ledger.add, "after")
    assert await log_of(opened) == gaplessly("before", "after")
    await opened.close()
    with pytest.raises(CovenError) as caught:
        await reopen(store_url, FIRST)
    assert caught.value.code == "SCHEMA_TOO_NEW"


async def test_an_embedded_store_keeps_a_copy_from_before_its_upgrade(tmp_path):
    url = f"sqlite:{tmp_path / 'coven.db'}"
    await reopen(url, FIRST)
    assert not (tmp_path / "backups").exists()
    await reopen(url)
    copy = tmp_path / "backups" / "schema-0001.db"
    before = copy.read_bytes()
    await reopen(f"sqlite:{copy}", FIRST)
    await reopen(url)
    assert before[:16] == b"SQLite format 3\0"
    assert [each.name for each in copy.parent.iterdir()] == ["schema-0001.db"]


async def test_a_copy_from_before_an_earlier_upgrade_does_not_stand_for_this_one(tmp_path):
    url = f"sqlite:{tmp_path / 'coven.db'}"
    await reopen(url, FIRST)
    await reopen(url)
    backups = tmp_path / "backups"
    for name in ("coven.db", "coven.db-wal", "coven.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "coven.db").write_bytes((backups / "schema-0001.db").read_bytes())
    await reopen(url)
    assert sorted(each.name for each in backups.iterdir()) == [
        "schema-0001-2.db",
        "schema-0001.db",
    ]


async def test_a_migration_that_fails_leaves_nothing_of_itself(store_url, room):
    half = "CREATE TABLE kb.half (x integer);\n"
    write(room, "0003_wrong", half + half)
    rooms = (*ledger.ROOMS, room.parent.name)
    for _ in range(2):
        with pytest.raises(StatementRefused):
            await reopen(store_url, rooms)
    await reopen(store_url)
    write(room, "0003_wrong", half)
    await reopen(store_url, rooms)


async def test_a_migration_that_is_cut_off_before_its_commit_runs_again(store_url):
    await reopen(store_url, FIRST)
    failpoints.arm("store.migration.before=error")
    try:
        with pytest.raises(OSError, match="armed to fail"):
            await reopen(store_url)
    finally:
        failpoints.arm("")
    assert (await notes(store_url))["schema_version"] == "2"


def test_the_statements_of_a_migration_are_told_apart(room):
    table = "CREATE TABLE a (\n  x text -- why; not\n);  \n\n"
    write(room, "0001_one", f"-- a; b\n{table}SELECT ';x';\n")
    (found,) = migrations.discover([room.parent.name], "sqlite")
    assert (found.number, found.name, found.phase) == (1, "one", "expand")
    assert len(found.statements()) == 2


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"0002_b.sqlite.sql": PHASE}, "gap"),
        ({"0001_a.sqlite.sql": PHASE, "0001_b.sqlite.sql": PHASE}, "taken"),
        ({"0001_a.sqlite.sql": "SELECT 1;"}, "phase"),
        ({"0001_a.sqlite.sql": "-- phase: expand"}, "phase"),
    ],
)
def test_files_that_cannot_be_a_history_are_a_defect(room, files, problem):
    for name, text in files.items():
        (room / name).write_text(text)
    with pytest.raises(ValueError, match=problem):
        migrations.discover([room.parent.name], "sqlite")


def test_what_is_no_migration_and_rooms_without_any_are_passed_over(room):
    (room / "README.md").write_text("Not a migration.")
    (room / "1_a.sqlite.sql").write_text("")
    assert migrations.discover([room.parent.name, "coven.core"], "sqlite") == []
