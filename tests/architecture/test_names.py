"""Names say what is inside, and every file says what it is."""

import ast
import re

from tests.architecture.tree import CODE, ROOT, modules, tracked

VAGUE = {
    *("utils", "util", "helpers", "helper", "common", "base", "misc", "manager", "managers"),
    *("handler", "handlers", "service", "services", "data", "info", "types"),
}
VAGUE_CLASS = re.compile(r"^(Abstract|Base)[A-Z]|(Impl|Manager|Helper|Utils?)$")


def test_no_file_or_folder_has_a_name_that_says_nothing():
    vague = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in (".py", ".sql", ".md", ".sh")
        and VAGUE & {part.split(".")[0] for part in path.relative_to(ROOT).parts}
    ]
    assert vague == []


def test_no_class_has_a_name_that_says_nothing():
    vague = [
        f"{module.at(node)} {node.name}"
        for module in modules(*CODE, "tests")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and VAGUE_CLASS.search(node.name)
    ]
    assert vague == []


def test_every_module_says_what_it_is():
    mute = [
        str(module)
        for module in modules(*CODE, "tests")
        if module.text.strip() and not ast.get_docstring(module.tree)
    ]
    empty = [str(module) for module in modules("src") if not module.text.strip()]
    assert mute == []
    assert empty == []


def test_every_public_class_of_the_package_says_what_it_is():
    mute = [
        f"{module.at(node)} {node.name}"
        for module in modules("src")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert mute == []


def test_every_value_is_frozen_slotted_and_built_by_keyword():
    loose = [
        f"{module.at(node)} {node.name}"
        for module in modules("src")
        if module.path.name == "model.py"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if (written := ast.unparse(decorator)).startswith("dataclass")
        and not all(f"{word}=True" in written for word in ("frozen", "slots", "kw_only"))
    ]
    assert loose == []
