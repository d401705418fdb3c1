"""The log is read from its files, whoever is alive."""

import json
from pathlib import Path

import pytest

from tests.cli.program import coven, running


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / ".coven" / "covend.log"
    path.parent.mkdir()
    return path


def _line(number: int) -> str:
    at = "2030-01-31T12:00:00.000000Z"
    told = {"timestamp": at, "level": "info", "event": f"number {number}", "count": number}
    return json.dumps(told) + "\n"


async def test_the_last_lines_come_from_older_files_too(log: Path):
    log.write_text(_line(5) + _line(6) + '{"event": "half')
    log.with_name("covend.log.1").write_text(_line(3) + _line(4))
    log.with_name("covend.log.2").write_text(_line(1) + _line(2))
    shown = await coven("logs", "--lines", "5", "--json", within=log.parent)
    told = [json.loads(line)["count"] for line in shown.out.splitlines()]
    assert told == [2, 3, 4, 5, 6]


async def test_a_person_sees_the_time_the_level_and_what_happened(log: Path):
    log.write_text(_line(1) + "not json \x1b[31m\n")
    shown = await coven("logs", within=log.parent)
    assert shown.out == (
        "2030-01-31T12:00:00.000000Z info     number 1 count=1\nnot json \\x1b[31m\n"
    )


async def test_following_goes_on_when_the_page_is_turned(log: Path):
    log.write_text(_line(1))
    async with running("logs", "--follow", "--json", within=log.parent) as logs:
        assert json.loads(await logs.line())["count"] == 1
        with log.open("a") as file:
            file.write(_line(2))
        log.rename(log.with_name("covend.log.1"))
        log.write_text(_line(3))
        assert json.loads(await logs.line())["count"] == 2
        assert json.loads(await logs.line())["count"] == 3


async def test_following_waits_for_a_log_that_is_not_there_yet(tmp_path: Path):
    async with running("logs", "-f", "--json", within=tmp_path) as logs:
        (tmp_path / ".coven").mkdir()
        (tmp_path / ".coven" / "covend.log").write_text(_line(1))
        assert json.loads(await logs.line())["count"] == 1
        assert await logs.interrupt() == 130


async def test_where_there_is_no_log_it_says_who_would_write_one(tmp_path: Path):
    shown = await coven("logs", within=tmp_path)
    assert shown.code == 10
    assert "coven up" in shown.err
