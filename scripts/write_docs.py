"""Writes what is generated from the code: `docs/reference/*.md` and `docs/dependencies.txt`.

`--check` writes nothing and fails if a page is not what the code says now. What a page says is
collected in `catalogue.py` and worded in `pages.py`.
"""

import sys
from pathlib import Path

from scripts import dependencies, pages

ROOT = Path(__file__).parent.parent


def rendered() -> dict[str, str]:
    """Each generated file, by its path in the repository."""
    texts = {f"docs/reference/{name}.md": text for name, text in pages.rendered().items()}
    return {**texts, "docs/dependencies.txt": dependencies.rendered()}


def stale() -> list[str]:
    """The generated files that differ from the code, or that nothing generates any more."""
    texts = rendered()
    written = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in [*ROOT.glob("docs/reference/*.md"), *ROOT.glob("docs/dependencies.txt")]
    }
    return sorted(name for name in texts | written if texts.get(name) != written.get(name))


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        names = stale()
        for name in names:
            print(f"{name} does not say what the code says: run `make docs`")
        return 1 if names else 0
    texts = rendered()
    for name in stale():
        path = ROOT / name
        if name not in texts:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
