"""Who may know whom, beyond what import-linter keeps: visitors, the web, pure nouns."""

import ast
import sys
import tomllib

from tests.architecture.tree import PACKAGE, ROOT, Module, modules, rooms

WEB = {"fastapi", "starlette", "uvicorn", "mcp", "typer"}
WEBLESS_FILES = {"model.py", "records.py", "recovery.py", "contract.py"}
PURE = {"blake3"}  # computes, and touches nothing
WEBLESS_FLOORS = {"core", "store"}


def test_every_room_stands_on_a_floor():
    """import-linter fails for a folder without a floor; this fails for a floor without folders."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    floors = {
        name.strip(" ()")
        for contract in contracts
        if contract["type"] == "layers"
        for layer in contract["layers"]
        for name in layer.split("|")
    }
    assert set(rooms()) <= floors


def test_the_client_could_be_its_own_package():
    strangers = _strangers("client", allowed={"client", "core"})
    assert strangers == []


def test_the_command_line_speaks_through_the_client_only():
    strangers = _strangers("cli", allowed={"cli", "client", "core"})
    assert strangers == []


def test_nobody_in_the_house_imports_the_fakes():
    guests = [
        f"{module} imports coven.testing"
        for module in modules("src")
        if _room(module) != "testing" and "testing" in _coven_imports(module)
    ]
    assert guests == []


def test_nouns_and_records_do_not_know_the_web():
    webbed = {
        str(module): sorted(found)
        for module in modules("src")
        if module.path.name in WEBLESS_FILES or _room(module) in WEBLESS_FLOORS
        if (found := _imports(module) & WEB)
    }
    assert webbed == {}


def test_nouns_depend_on_nothing_but_words_that_everyone_shares():
    allowed = set(sys.stdlib_module_names) | {"coven"} | PURE
    impure = {
        str(module): sorted(found)
        for module in modules("src")
        if module.path.name == "model.py"
        if (
            found := (_imports(module) - allowed)
            | (_coven_imports(module) - {"core", "store", _room(module)})
        )
    }
    assert impure == {}


def test_untrusted_text_becomes_values_only_at_the_doors():
    """Pydantic is for what enters: routes, tools, configuration."""
    doors = {"routes.py", "tools.py", "config.py"}
    elsewhere = [
        str(module)
        for module in modules("src")
        if "pydantic" in _imports(module)
        and module.path.name not in doors
        and _room(module) not in {"doors", "daemon"}
    ]
    assert elsewhere == []


def _strangers(visitor: str, *, allowed: set[str]) -> list[str]:
    return [
        f"{module} imports coven.{room}"
        for module in modules("src")
        if _room(module) == visitor
        for room in sorted(_coven_imports(module) - allowed)
    ]


def _room(module: Module) -> str:
    return module.path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(module: Module) -> set[str]:
    return {name.split(".")[0] for name in _imported_names(module)}


def _coven_imports(module: Module) -> set[str]:
    """The rooms that a module imports: `from coven import __version__` names none."""
    return {
        name.split(".")[1]
        for name in _imported_names(module)
        if name.startswith("coven.") and name.split(".")[1] not in ("Coven", "__version__")
    }


def _imported_names(module: Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names
