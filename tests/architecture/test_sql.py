"""SQL stands in `.sql` files, by noun, with a name and a line of prose, for both engines."""

import ast
import re
from collections.abc import Iterator

import apsw
import apsw.ext
import pytest

from coven.store import statements
from scripts import catalogue
from tests.architecture.tree import PACKAGE, ROOT, Module, modules

ROWS = re.compile(
    r"\bSELECT\b[^\"']*\bFROM\s+\w|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bUPDATE\s+[\w.]+\s+SET\b"
    r"|\bDELETE\s+FROM\b|\b(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX|VIEW|TRIGGER)\b"
    r"|\bORDER\s+BY\b|\bWHERE\s+\w+\s*(=|IN\b)"
)
CONTROL = re.compile(r"^\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|ATTACH|VACUUM)\b")
NUMBERED = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.(?P<engine>sqlite|postgres)\.sql")
QUERIES = sorted(PACKAGE.rglob("*queries.sql"))
MIGRATIONS = sorted(PACKAGE.glob("*/migrations/*"), key=lambda path: path.name)


def test_no_rows_are_read_or_written_by_text_in_python():
    found = [
        f"{module.at(node)} {node.value.strip()[:60]!r}"
        for module in modules("src")
        for node in _strings(module)
        if ROWS.search(node.value)
    ]
    assert found == []


def test_only_the_store_tells_the_database_what_to_do():
    found = [
        f"{module.at(node)} {node.value.strip()[:60]!r}"
        for module in modules("src")
        if PACKAGE / "store" not in module.path.parents
        for node in _strings(module)
        if CONTROL.match(node.value)
    ]
    assert found == []


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_statement_has_a_name_prose_and_a_text_for_each_engine(path):
    source = str(path.relative_to(ROOT))
    found = statements.parse(path.read_text(encoding="utf-8"), source=source)
    assert found, f"{source} holds no statements"


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_statement_is_used_somewhere(path):
    found = statements.parse(path.read_text(encoding="utf-8"), source=str(path))
    used = re.compile("|".join(_names_asked_for()))
    unused = [name for name in found if not used.fullmatch(name)]
    assert unused == []


def test_every_statement_prepares_on_the_schema_of_all_migrations():
    connection = apsw.Connection(":memory:")
    connection.execute("ATTACH ':memory:' AS kb")
    for path in catalogue.migrations():
        connection.execute(path.read_text(encoding="utf-8"))
    wrong: dict[str, str] = {}
    for path in QUERIES:
        for statement in statements.parse(
            path.read_text(encoding="utf-8"), source=str(path)
        ).values():
            try:
                apsw.ext.query_info(connection, statement.sqlite)
            except apsw.SQLError as error:
                wrong[f"{path.relative_to(ROOT)}: {statement.name}"] = str(error)
    assert wrong == {}


def test_migrations_are_numbered_without_gaps_and_written_for_both_engines():
    numbers: dict[int, set[tuple[str, str]]] = {}
    for path in MIGRATIONS:
        match = NUMBERED.fullmatch(path.name)
        assert match, f"{path.relative_to(ROOT)} is not NNNN_name.engine.sql"
        key = (f"{path.parent.parent.name}/{match['name']}", match["engine"])
        numbers.setdefault(int(match["number"]), set()).add(key)
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    for number, found in numbers.items():
        assert len({name for name, _ in found}) == 1, f"two migrations have the number {number}"
        assert {engine for _, engine in found} == {"sqlite", "postgres"}, number


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.name)
def test_every_migration_says_its_phase_and_its_story(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] in ("-- phase: expand", "-- phase: contract")
    assert lines[1].startswith("-- ")


def test_both_engines_make_the_same_tables_with_the_same_columns():
    for number in sorted({path.name[:4] for path in MIGRATIONS}):
        texts = [path.read_text(encoding="utf-8") for path in MIGRATIONS if path.name[:4] == number]
        shapes = [_shape(text) for text in texts]
        assert shapes[0] == shapes[-1], f"migration {number} differs between the engines"


def _shape(text: str) -> dict[str, list[str]]:
    """The columns that a migration makes or adds, in order, by table."""
    shape: dict[str, list[str]] = {}
    text = re.sub(r"--[^\n]*", "", text)
    for table, body in re.findall(r"CREATE TABLE kb\.(\w+) \(\n(.*?)\n\)", text, re.S):
        shape[table] = re.findall(r"^  ([a-z]\w*) ", body, re.M)
    for table, column in re.findall(r"ALTER TABLE kb\.(\w+)\s+ADD COLUMN (\w+)", text):
        shape.setdefault(table, []).append(column)
    return shape


def _names_asked_for() -> set[str]:
    """Patterns for the names in `queries["name"]`, also where a name is put together."""
    return {
        "".join(
            re.escape(part.value) if isinstance(part, ast.Constant) else r"\w*"
            for part in (node.values if isinstance(node, ast.JoinedStr) else [node])
        )
        for module in modules("src")
        if "queries" in module.text
        for node in ast.walk(module.tree)
        if isinstance(node, ast.JoinedStr)
        or (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.isidentifier()
        )
    }


def _strings(module: Module) -> Iterator[ast.Constant]:
    prose = module.prose()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node
