"""What a person reads when the daemon is up: it is true, it works when pasted, problems first."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.daemon.lives import live

Output = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory whose name a shell would take apart."""
    folder = tmp_path / "my project's"
    folder.mkdir()
    return folder


def commands(text: str) -> list[list[str]]:
    """The command lines that are shown to be tried, as a shell reads them."""
    tried = text.partition("Three things to try")[2].partition("Stop it with")[0]
    return [shlex.split(line, comments=True) for line in tried.splitlines()[1:] if line]


def test_it_says_where_the_daemon_is_and_what_to_try(project: Path, capsys: Output) -> None:
    seen: list[str] = []

    def visit(http: httpx.Client) -> None:
        seen.append(json.loads((project / ".coven" / "covend.json").read_text())["url"])

    assert live(project, visit=visit) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Coven 0.1.0 is up on the embedded store (pid {os.getpid()}).\n")
    assert f"  URL     {seen[0]} " in told
    assert f"  socket  {project}/.coven/covend.sock\n" in told
    assert f"  token   {project}/.coven/token\n" in told
    assert f"  kill -9 {os.getpid()} " in told


def test_what_there_is_to_try_can_be_pasted(project: Path, capsys: Output) -> None:
    titles: list[str] = []

    def visit(http: httpx.Client) -> None:
        _, post, kill = commands(capsys.readouterr().out)
        assert kill == ["kill", "-9", str(os.getpid())]
        tried = subprocess.run(
            [sys.executable, "-m", "coven", *post[1:]],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert tried.returncode == 0, tried.stderr
        found = http.get("/api/v1/notifications").json()["items"]
        titles.extend(item["title"] for item in found)

    assert live(project, visit=visit) == 0
    assert titles == ["It works"]


def test_a_program_reads_one_line_of_json(project: Path, capsys: Output) -> None:
    assert live(project, "--json", COVEN_LOG_LEVEL="loud") == 0
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["pid"], told["store"]) == (os.getpid(), "sqlite")
    assert told["url"].startswith("http://127.0.0.1:")
    assert told["token_file"] == str(project / ".coven" / "token")
    assert len(told["problems"]) == 1
    assert "COVEN_LOG_LEVEL" in told["problems"][0]


def test_problems_come_first_because_they_ask_for_something(project: Path, capsys: Output) -> None:
    assert live(project, COVEN_LOG_LEVEL="loud") == 0
    assert capsys.readouterr().out.startswith('warning: COVEN_LOG_LEVEL is "loud"')


def test_the_token_itself_is_never_shown(project: Path, capsys: Output) -> None:
    assert live(project) == 0
    shown = capsys.readouterr()
    token = (project / ".coven" / "token").read_text().strip()
    log = (project / ".coven" / "covend.log").read_text()
    assert token not in shown.out + shown.err + log
