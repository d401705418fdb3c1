"""The pages are true: every Python block runs, every command exists, every link leads somewhere.

A block runs as a reader would run it: a program of its own in the project directory of a daemon,
which it finds by itself. Blocks of other languages are marked `bash`, with a prompt before each
command, or `text`, for what cannot be run.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from coven.daemon.daemon import Daemon
from scripts import catalogue
from tests.architecture.tree import ROOT, tracked

pytestmark = pytest.mark.slow

SECONDS_MAX = 30
LANGUAGES = {"python", "bash", "text"}
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^ *```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)(?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
SESSION = re.compile(r"^\$ (?:[A-Z_]+=\S+ )*(?:\S*/)?(coven(?: +[a-z]+)+)(?= |$)", re.M)
MENTION = re.compile(r"`(coven(?: [a-z]+)+)(?=[ `])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def blocks() -> Iterator[Block]:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            yield Block(
                page=page,
                line=text.count("\n", 0, match.start()) + 1,
                language=match["language"],
                text=re.sub(rf"^{match['indent']}", "", match["text"], flags=re.M),
            )


def programs() -> dict[str, str]:
    """Every program that a reader is shown, by where it stands."""
    shown = {str(block): block.text for block in blocks() if block.language == "python"}
    for path in sorted((ROOT / "examples").glob("*.py")):
        shown[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
    return shown


PROGRAMS = programs()


@pytest.mark.parametrize("place", PROGRAMS)
async def test_a_program_that_is_shown_runs_against_a_daemon(daemon: Daemon, place: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVEN_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", PROGRAMS[place]),
        cwd=daemon.settings.directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS_MAX)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    assert process.returncode == 0, f"{place}\n{output.decode()}"


def test_every_block_says_what_it_is() -> None:
    wrong = [str(block) for block in blocks() if block.language not in LANGUAGES]
    assert wrong == []


def test_every_shell_block_is_a_session_that_a_shell_can_read() -> None:
    wrong: dict[str, str] = {}
    for block in blocks():
        if block.language != "bash":
            continue
        commands = [line.removeprefix("$ ") for line in block.text.splitlines()]
        if not block.text.startswith("$ "):
            wrong[str(block)] = "begins without a prompt"
        read = subprocess.run(
            ["bash", "-n"], input="\n".join(commands), text=True, capture_output=True, check=False
        )
        if read.returncode:
            wrong[str(block)] = read.stderr
    assert wrong == {}


def test_every_command_that_is_shown_exists() -> None:
    known = {command.name for command in catalogue.every_command()}
    sessions = {str(block): SESSION.findall(block.text) for block in blocks()}
    mentions = {str(page): MENTION.findall(page.read_text(encoding="utf-8")) for page in pages()}
    unknown = {
        f"{place}: {name}"
        for place, names in [*sessions.items(), *mentions.items()]
        for name in names
        if not any(_is_same(name, one) for one in known)
    }
    assert unknown == set()


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_or_a_heading(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = LINK.finditer(re.sub(r"`[^`\n]*`", "", text))
    broken = [match[0] for match in links if not _leads(page, match["path"], match["anchor"])]
    assert broken == []


def _is_same(shown: str, known: str) -> bool:
    """`coven token create laptop` shows `coven token create`; `coven token` speaks of its group."""
    return f"{shown} ".startswith(f"{known} ") or f"{known} ".startswith(f"{shown} ")


def _leads(page: Path, path: str, anchor: str | None) -> bool:
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """What headings are called where Markdown is shown: the second of one name ends in `-1`."""
    seen: Counter[str] = Counter()
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found
