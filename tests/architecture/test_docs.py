"""Docs cannot lie: what exists is documented, and what is documented exists."""

import re
from pathlib import Path

import pytest

from scripts import catalogue, write_docs
from tests.architecture.tree import ROOT

REFERENCE = ROOT / "docs" / "reference"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog/**/*.md")]
)


def test_the_generated_pages_say_what_the_code_says():
    assert write_docs.stale() == []


@pytest.mark.parametrize("subject", catalogue.SUBJECTS)
def test_everything_of_a_kind_is_in_the_reference(subject):
    names = catalogue.SUBJECTS[subject]()
    page = (REFERENCE / f"{subject}.md").read_text(encoding="utf-8")
    assert names, f"the code has no {subject}"
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    text = _without_code(page.read_text(encoding="utf-8"))
    broken = [
        f"{path}#{anchor}" if anchor else path
        for path, anchor in LINK.findall(text)
        if not _leads_somewhere(page, path, anchor)
    ]
    assert broken == []


def _leads_somewhere(page: Path, path: str, anchor: str) -> bool:
    target = (page.parent / path) if path else page
    if not target.exists():
        return False
    if not anchor or target.suffix != ".md":
        return True
    headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
    return anchor in {_anchor(heading) for heading in headings}


def _anchor(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
