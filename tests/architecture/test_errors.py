"""Errors: a code, a sentence with all its words filled in, and a remedy; nothing swallowed."""

import ast
import re
import string

from coven.core.errors import CovenError, Kind
from scripts import catalogue
from tests.architecture.tree import modules

EXEMPTION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*\w+)(?P<what>[^\n]*)")
REASONED = re.compile(
    r"(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[\w+(?:,\s*\w+)*\])\s*[-—–:#]+\s*\w.{3,}"
)


def test_every_error_has_a_stable_code_a_sentence_and_a_remedy():
    wrong = [
        error.__name__
        for error in catalogue.every_error()
        if not re.fullmatch(r"[A-Z][A-Z0-9_]+", error.code)
        or not error.__doc__
        or not error.remedy.rstrip().endswith((".", "`", "?"))
        or (error.kind is not Kind.BUG and error.remedy == CovenError.remedy)
    ]
    assert wrong == []


def test_every_word_that_an_error_message_needs_is_given_where_it_is_made():
    templates = {error.__name__: _words(error) for error in catalogue.every_error()}
    missing = {
        module.at(node): sorted(gap)
        for module in modules("src")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and (name := ast.unparse(node.func).split(".")[-1]) in templates
        and None not in (given := {keyword.arg for keyword in node.keywords})
        and (gap := templates[name] - given)
    }
    assert missing == {}


def test_no_message_repeats_the_exception_that_caused_it():
    """Causes are chained with `from`, and printed by one function."""
    repeats: list[str] = []
    for module in modules("src"):
        for handler in ast.walk(module.tree):
            if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
                continue
            repeats += [
                module.at(raised)
                for raised in ast.walk(handler)
                if isinstance(raised, ast.Raise) and _formats(raised, handler.name)
            ]
    assert repeats == []


def test_everything_is_caught_only_with_a_reason_beside_it():
    bare: list[str] = []
    for module in modules("src", "scripts"):
        lines = module.text.splitlines()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and _swallows_everything(node):
                reason = lines[node.lineno - 1].partition("#")[2]
                if len(re.sub(r"noqa:?\s*[A-Z0-9, ]*", "", reason).strip(" -—:")) < 10:
                    bare.append(module.at(node))
    assert bare == []


def test_every_exemption_names_its_rule_and_its_reason():
    silent = [
        f"{module}:{number}"
        for module in modules("src", "scripts", "tests", "benchmarks", "examples")
        for number, line in enumerate(module.text.splitlines(), start=1)
        if (match := EXEMPTION.search(line)) and not REASONED.match(match["what"])
    ]
    assert silent == []


def _words(error: type[CovenError]) -> set[str]:
    """What the message of an error is filled in with."""
    message = (error.__doc__ or "").strip().split("\n\n")[0]
    found = {name for _, name, _, _ in string.Formatter().parse(message) if name}
    return {re.split(r"[.\[]", name)[0] for name in found}


def _formats(raised: ast.Raise, name: str) -> bool:
    if raised.exc is None:
        return False
    return any(
        isinstance(node, ast.FormattedValue)
        and any(isinstance(part, ast.Name) and part.id == name for part in _plain(node.value))
        for node in ast.walk(raised.exc)
    )


def _plain(value: ast.expr) -> list[ast.expr]:
    """The exception itself or its text; an attribute of it, such as `error.errno`, is a fact."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("str", "repr"):
        return list(value.args)
    return [value]


def _swallows_everything(node: ast.ExceptHandler) -> bool:
    names = {"Exception", "BaseException"}
    broad = node.type is None or names & set(re.findall(r"\w+", ast.unparse(node.type)))
    return bool(broad) and not isinstance(node.body[-1], ast.Raise)
