"""Sizes that keep a file readable in one sitting. Nothing is exempt."""

import ast

from tests.architecture.tree import CODE, ROOT, Function, modules

FUNCTION_LINES_MAX = 70
MODULE_LINES_MAX = 600
POSITIONAL_PARAMETERS_MAX = 3
TEST_LINES_MAX = 60
CONFTEST_LINES_MAX = 150
MANIFEST_LINES_MAX = 400


def test_no_function_is_longer_than_a_screen_and_a_half():
    long = {
        f"{module.at(function)} {function.name}": lines
        for module in modules(*CODE)
        for function in module.functions()
        if (lines := _lines(function)) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_no_module_is_longer_than_can_be_read_at_once():
    long = {
        str(module): lines
        for module in modules(*CODE, "tests")
        if (lines := module.text.count("\n")) > MODULE_LINES_MAX
    }
    assert long == {}


def test_no_function_takes_more_than_three_positional_parameters():
    greedy = {
        f"{module.at(function)} {function.name}": len(names)
        for module in modules("src", "scripts")
        for function in module.functions()
        if len(names := _positional(function)) > POSITIONAL_PARAMETERS_MAX
    }
    assert greedy == {}


def test_no_boolean_parameter_is_positional():
    """A callback that is given nothing but a boolean has no keyword to be given it by."""
    positional = [
        f"{module.at(function)} {function.name}({argument.arg})"
        for module in modules("src", "scripts")
        for function in module.functions()
        for argument in [*function.args.posonlyargs, *function.args.args]
        if argument.annotation is not None
        and ast.unparse(argument.annotation) == "bool"
        and not (function.name.startswith("_") and len(_positional(function)) == 1)
    ]
    assert positional == []


def test_no_test_is_longer_than_one_screen():
    long = {
        f"{module.at(function)} {function.name}": lines
        for module in modules("tests")
        for function in module.functions()
        if function.name.startswith("test_") and (lines := _lines(function)) > TEST_LINES_MAX
    }
    assert long == {}


def test_what_every_test_depends_on_stays_small():
    limits = {ROOT / "tests" / "conftest.py": CONFTEST_LINES_MAX}
    limits |= dict.fromkeys((ROOT / "tests/spec/requirements").glob("*.py"), MANIFEST_LINES_MAX)
    long = {
        str(module): module.text.count("\n")
        for module in modules("tests")
        if module.text.count("\n") > limits.get(module.path, MODULE_LINES_MAX)
    }
    assert long == {}


def _lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _positional(function: Function) -> list[str]:
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names
