"""The repository as data: its files, and its modules parsed once. What every test here reads."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "coven"
CODE = ("src", "scripts", "benchmarks", "examples")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file."""

    path: Path
    text: str
    tree: ast.Module

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler) -> str:
        """Where something stands, for a person: `src/coven/core/ids.py:12`."""
        return f"{self}:{node.lineno}"

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def prose(self) -> set[int]:
        """The identities of the string nodes that are documentation, not values."""
        return {
            id(statement.value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Module | ast.ClassDef | Function)
            for statement in node.body
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        }


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """Every Python file below these folders of the repository."""
    return tuple(
        Module(path=path, text=text, tree=ast.parse(text))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in (path.read_text(encoding="utf-8"),)
    )


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that is, or is about to be, part of the repository."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return tuple(path for path in sorted(ROOT.rglob("*")) if path.is_file() and _is_ours(path))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()
    found = (ROOT / name for name in sorted(set(listed.split("\0")) - {""}))
    return tuple(path for path in found if path.is_file())


def _is_ours(path: Path) -> bool:
    """Where there is no git: whatever no line of `.gitignore` names."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
    name = path.relative_to(ROOT)
    return name.parts[0] != ".git" and not any(
        str(name).startswith(pattern + "/") or any(fnmatch(part, pattern) for part in name.parts)
        for pattern in ignored
    )


def rooms() -> list[str]:
    """The folders of the house that hold code."""
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
