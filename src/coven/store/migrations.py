"""The schema: numbered files in the folder of the room that owns the noun, applied in order.

A file is `NNNN_name.<engine>.sql`; its first line says `-- phase: expand` (adds, the release
before still works on it) or `-- phase: contract` (takes away what no release reads any more). What
ran is written down in `kb.meta` with its checksum. A schema newer than this code, or one that ran
other text under a known number, is refused: it belongs to another release.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from coven.core import clock as clocks
from coven.core.clock import Clock
from coven.core.errors import CovenError, Kind
from coven.store.engine import Engine, Migrator, StoreCorrupt
from coven.store.queries import queries

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.(sqlite|postgres)\.sql")
_PHASE = re.compile(r"-- phase: (expand|contract)\n")
VERSION_KEY = "schema_version"
CREATED_KEY = "created_at"


class SchemaTooNew(CovenError):
    """The store has schema {found}, and this version of Coven knows only up to {known}."""

    code = "SCHEMA_TOO_NEW"
    kind = Kind.CONFLICT
    remedy = (
        "Start the version of Coven that wrote it, or a newer one. To go back on purpose, restore "
        "a file of .coven/backups from before the upgrade."
    )


class SchemaDiffers(CovenError):
    """Migration {number} of this store is not the one that this version of Coven carries."""

    code = "SCHEMA_DIFFERS"
    kind = Kind.CONFLICT
    remedy = "The store was made by another build. Start that build, or restore a backup."


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file."""

    number: int
    name: str
    phase: str
    text: str

    @property
    def key(self) -> str:
        """Under which key `kb.meta` says that it ran."""
        return f"migration.{self.number:04}"

    @property
    def checksum(self) -> str:
        """What its text was."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self) -> list[str]:
        """Its statements, one by one."""
        lines = [line for line in self.text.splitlines() if not line.lstrip().startswith("--")]
        parts = re.split(r";[ \t]*(?:\n|$)", "\n".join(lines))
        return [part.strip() for part in parts if part.strip()]


def discover(rooms: Sequence[str], engine_name: str) -> list[Migration]:
    """The migrations of these rooms for one engine, in order and without a gap."""
    found: dict[int, Migration] = {}
    for room in rooms:
        folder = resources.files(room).joinpath("migrations")
        if not folder.is_dir():
            continue
        for file in folder.iterdir():
            match = _FILE.fullmatch(file.name)
            if match is None or match[3] != engine_name:
                continue
            text = file.read_text(encoding="utf-8")
            phase = _PHASE.match(text)
            number = int(match[1])
            if phase is None or number in found:
                raise ValueError(f"{file.name}: no phase, or a number that is taken")
            found[number] = Migration(number=number, name=match[2], phase=phase[1], text=text)
    if sorted(found) != list(range(1, len(found) + 1)):
        raise ValueError(f"the numbers of the migrations have a gap: {sorted(found)}")
    return [found[number] for number in sorted(found)]


def apply(engine: Engine, migrations: Sequence[Migration], clock: Clock) -> list[Migration]:
    """Bring the schema up to date; which migrations ran. Safe to repeat after a crash."""
    with engine.migrating() as migrator:
        done = _done(migrator)
        known = {migration.key: migration for migration in migrations}
        found = _version(done)
        if found > len(migrations):
            raise SchemaTooNew(found=found, known=len(migrations))
        for key, value in done.items():
            if key in known and _checksum(value) != known[key].checksum:
                raise SchemaDiffers(number=known[key].number)
        due = [migration for migration in migrations if migration.key not in done]
        if due and done:
            migrator.save_copy(f"schema-{found:04}")
        for migration in due:
            _run(migrator, migration, clock)
    return due


def _done(migrator: Migrator) -> dict[str, str]:
    if not migrator.existing():
        return {}
    return {row["key"]: row["value"] for row in migrator.meta(queries["meta"])}


def _version(done: dict[str, str]) -> int:
    try:
        return int(done.get(VERSION_KEY, "0"))
    except ValueError as error:
        raise StoreCorrupt(reason="kb.meta does not say which schema it has") from error


def _checksum(note: str) -> str | None:
    try:
        told: Any = json.loads(note)
        return told["sha256"]
    except (ValueError, TypeError, KeyError):
        return None


def _run(migrator: Migrator, migration: Migration, clock: Clock) -> None:
    at = clocks.render(clock.now())
    told = {"name": migration.name, "sha256": migration.checksum, "at": at}
    notes = [
        {"key": migration.key, "value": json.dumps(told)},
        {"key": VERSION_KEY, "value": str(migration.number)},
    ]
    if migration.number == 1:
        notes.append({"key": CREATED_KEY, "value": at})
    migrator.apply(migration.statements(), (queries["note"], notes))
