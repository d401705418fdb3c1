"""Which test proves which promise: the `@requirement` mark, and what reads it back.

The marks are read from the source, not from a test run, so that `make requirements` needs no
database and tells the truth about tests that were not selected.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.spec.requirements import EVERY

SPEC = Path(__file__).parent
ROOT = SPEC.parent.parent

F = TypeVar("F", bound=Callable[..., Any])


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test with the promises that it proves: `@requirement("U-24", "U-25")`."""
    unknown = [id for id in ids if id not in EVERY]
    if unknown or not ids:
        raise ValueError(f"no such requirement: {', '.join(unknown) or '(none given)'}")
    return pytest.mark.requirement(*ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A test under `tests/spec`, as it stands in its file."""

    path: Path
    name: str
    line: int
    docstring: str
    requirements: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}::{self.name}"


def proofs() -> list[Proof]:
    """Every test of the specification, in the order of the files."""
    paths = sorted(path for path in SPEC.rglob("test_*.py") if path.name != "test_manifest.py")
    return [proof for path in paths for proof in _proofs_in(path)]


def proved_by() -> dict[str, list[Proof]]:
    """The tests of each promise that has any."""
    tests: dict[str, list[Proof]] = defaultdict(list)
    for proof in proofs():
        for id in proof.requirements:
            tests[id].append(proof)
    return tests


def main() -> None:
    """Print one line for each promise: its id, its tests or `not yet`, and what it says."""
    tests = proved_by()
    for promise in EVERY.values():
        named = " ".join(str(proof) for proof in tests.get(promise.id, ())) or "not yet"
        gap = f" (differs: {promise.divergence})" if promise.divergence else ""
        print(f"{promise.id}  {named}{gap}  {promise.sentence}")
    print(f"{sum(id in tests for id in EVERY)} of {len(EVERY)} have a test")


def _proofs_in(path: Path) -> Iterator[Proof]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test_"
        ):
            yield Proof(
                path=path,
                name=node.name,
                line=node.lineno,
                docstring=ast.get_docstring(node) or "",
                requirements=tuple(_requirements(node)),
            )


def _requirements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "requirement":
            yield from (ast.literal_eval(argument) for argument in decorator.args)


if __name__ == "__main__":
    main()
