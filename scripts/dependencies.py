"""Which module uses which third-party package: the text of `docs/dependencies.txt`.

One block for each package, with the modules that import it. A new line in a review is a new place
where an outside power enters the house.
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
NOTE = """\
# Third-party packages, and the modules that import them. Written by `make docs`.
"""


def rendered() -> str:
    """The text of `docs/dependencies.txt`."""
    users: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for package in _imported(path):
            users[package].append(module)
    blocks = [
        "\n".join([package, *(f"    {module}" for module in modules)])
        for package, modules in sorted(users.items())
    ]
    return NOTE + "".join(f"\n{block}\n" for block in blocks)


def _imported(path: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.split(".")[0])
    return roots - sys.stdlib_module_names - {"coven"}
