"""Tests about the tests: no mocks, no sleeps, nothing skipped, every contract proved."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from scripts import catalogue
from tests.architecture.tree import ROOT, Module, modules

MOCKS = {"unittest.mock", "mock", "pytest_mock"}
SLEEPS = {"time.sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep", "sleep"}
SKIPS = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b")
WAITS = ROOT / "tests" / "eventually.py"
FAULTS = ROOT / "tests" / "faults"
WORDS_MIN = 3


def test_no_test_mocks_our_own_code():
    mocked = [
        str(module)
        for module in modules("tests")
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.ImportFrom) and node.module in MOCKS)
        or (isinstance(node, ast.ImportFrom) and node.module == "unittest")
        or (isinstance(node, ast.Import) and MOCKS & {alias.name for alias in node.names})
    ]
    assert mocked == []


def test_no_test_sleeps():
    asleep = [
        module.at(node)
        for module in modules("tests")
        if module.path != WAITS and FAULTS not in module.path.parents
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in SLEEPS
    ]
    assert asleep == []


def test_no_test_is_skipped_or_expected_to_fail():
    skipped = [
        module.at(node)
        for module in modules("tests")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and SKIPS.fullmatch(ast.unparse(node))
    ]
    assert skipped == []


def test_the_file_is_the_group_of_its_tests():
    grouped = [
        f"{module.at(node)} {node.name}"
        for module in modules("tests")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test")
        # The class that Hypothesis makes of a state machine is assigned, not written.
    ]
    assert grouped == []


def test_the_name_of_a_test_is_a_sentence():
    short = [
        f"{module.at(function)} {function.name}"
        for module in modules("tests")
        for function in module.functions()
        if function.name.startswith("test_")
        and len(function.name.removeprefix("test_").split("_")) < WORDS_MIN
    ]
    assert short == []


def test_every_implementation_of_a_contract_runs_its_conformance_suite():
    suites = "\n".join(module.text for module in modules("tests/contracts"))
    unproved = {
        f"{contract.__module__}.{contract.__name__}": names
        for contract in _contracts()
        if (
            names := [
                implementation.__name__
                for implementation in _implementations(contract)
                if not re.search(rf"\b{implementation.__name__}\b", suites)
            ]
        )
    }
    assert unproved == {}


def test_every_contract_says_what_each_of_its_methods_means():
    mute = [
        f"{module.at(method)} {node.name}.{method.name}"
        for module in modules("src")
        if _is_contract(module)
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        and not ast.get_docstring(method)
    ]
    assert mute == []


def _is_contract(module: Module) -> bool:
    return module.path.name == "contract.py"


def _contracts() -> Iterator[type[Any]]:
    """Every Protocol that a `contract.py` declares."""
    for module in catalogue.modules():
        if module.__name__.endswith(".contract"):
            for _, found in inspect.getmembers(module, inspect.isclass):
                if found.__module__ == module.__name__ and getattr(found, "_is_protocol", False):
                    yield found


def _implementations(contract: type[Any]) -> Iterator[type[Any]]:
    """Every class of the package that has all that the contract asks for."""
    asked = {name for name in vars(contract) if not name.startswith("_")}
    for module in catalogue.modules():
        for _, found in inspect.getmembers(
            importlib.import_module(module.__name__), inspect.isclass
        ):
            if (
                found.__module__ == module.__name__
                and found is not contract
                and not getattr(found, "_is_protocol", False)
                and asked <= set(dir(found))
            ):
                yield found
