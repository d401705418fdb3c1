"""The log: every line once, in one shape, without secrets."""

import asyncio
import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from coven import config
from coven.config import Settings
from coven.core.clock import SystemClock, parse
from coven.daemon import files, logs
from coven.daemon.log_file import LogFile
from coven.daemon.logs import Logs
from tests.daemon_edge.unprivileged import unprivileged
from tests.eventually import eventually_here

TOKEN = "coven_" + "x" * 43


@pytest.fixture
def told(project: Path) -> Settings:
    files.make_state_directory(project / ".coven")
    return config.load(project, environment={})


@pytest.fixture
def logged(told: Settings) -> Iterator[Logs]:
    level = logging.getLogger().level
    with logs.configure(told, foreground=False) as begun:
        yield begun
    logging.getLogger().setLevel(level)


def lines(settings: Settings) -> list[dict[str, Any]]:
    return [json.loads(line) for line in settings.log_file.read_text().splitlines()]


def test_our_lines_and_those_of_libraries_have_one_shape(logged: Logs, told: Settings) -> None:
    structlog.get_logger("coven.x").info("opened", workspace_id="w1")
    logging.getLogger("uvicorn.error").info("Started server process")  # of use to nobody
    logging.getLogger("uvicorn.error").warning("%s requests", 3)
    logged.flush()
    ours, theirs = lines(told)
    parse(ours.pop("timestamp"))
    parse(theirs.pop("timestamp"))
    assert ours == {
        "level": "info",
        "event": "opened",
        "logger": "coven.x",
        "workspace_id": "w1",
    }
    assert theirs == {"level": "warning", "event": "3 requests", "logger": "uvicorn.error"}
    assert told.log_file.stat().st_mode & 0o777 == 0o600


def test_the_time_of_a_line_is_that_of_our_clock(told: Settings) -> None:
    clock = SystemClock(timedelta(days=400))
    with logs.configure(told, foreground=False, clock=clock):
        logging.getLogger("x").warning("later")
    assert parse(lines(told)[0]["timestamp"]) > SystemClock(timedelta(days=399)).now()


def test_the_level_of_the_settings_is_kept(project: Path, told: Settings) -> None:
    quiet = config.load(project, environment={"COVEN_LOG_LEVEL": "error"})
    with logs.configure(quiet, foreground=False):
        logging.getLogger("x").warning("not this")
        structlog.get_logger("x").info("nor this")
        logging.getLogger("x").error("this")
    assert [line["event"] for line in lines(told)] == ["this"]


@pytest.mark.parametrize(
    "said",
    [
        {"token": "s3cret"},
        {"Authorization": "s3cret"},
        {"api_key": "s3cret"},
        {"inner": {"x-api-key": ["s3cret"], "deep": [{"password": "s3cret"}]}},
        {"header": "Bearer s3cret"},
        {"url": "postgresql://u:s3cret@h/d"},
        {"clone": "https://s3cret@example.org/r.git"},
        {"text": f"the token is {TOKEN} it seems"},
        {"thing": type("Thing", (), {"__repr__": lambda _: "Thing(password=s3cret)"})()},
    ],
    ids=lambda said: next(iter(said)),
)
def test_no_secret_reaches_the_file(logged: Logs, told: Settings, said: dict[str, Any]) -> None:
    structlog.get_logger("x").warning("said", **said)
    logging.getLogger("y").warning("said %s", next(iter(said.values())))
    logged.flush()
    text = told.log_file.read_text().splitlines()[0]
    assert "s3cret" not in text
    assert TOKEN not in text
    assert "[redacted]" in text


def test_a_secret_in_an_exception_is_taken_out(logged: Logs, told: Settings) -> None:
    try:
        raise ValueError("cannot reach postgresql://u:s3cret@h/d")
    except ValueError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("y").exception("failed")
    logged.flush()
    assert "s3cret" not in told.log_file.read_text()
    assert all("ValueError" in line["exception"] for line in lines(told))


def test_a_token_id_is_no_secret_and_numbers_stay_numbers(logged: Logs, told: Settings) -> None:
    structlog.get_logger("x").warning("used", token_id="t1", tokens=3, token=None)
    logged.flush()
    line = lines(told)[0]
    assert (line["token_id"], line["tokens"], line["token"]) == ("t1", 3, None)


def test_a_text_of_any_size_is_one_line_of_bounded_length(logged: Logs, told: Settings) -> None:
    structlog.get_logger("x").warning("a\nb\x1b[2J\udcff", text="x" * 1_000_000)
    logged.flush()
    assert len(told.log_file.read_bytes()) < 20_000
    assert lines(told)[0]["event"].startswith("a\nb\x1b[2J")


def test_warnings_and_failed_threads_are_logged(logged: Logs, told: Settings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old way", UserWarning, stacklevel=1)
    failing = threading.Thread(target=lambda: [][1], name="poller")
    failing.start()
    failing.join()
    logged.flush()
    assert any("thread poller failed" in line["event"] for line in lines(told))


def test_a_terminal_shows_readable_lines_that_cannot_drive_it(
    told: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with logs.configure(told, foreground=True):
        structlog.get_logger("x").warning("hello\x1b[2J\nfake", token="s3cret")
    text = terminal.getvalue()
    assert "hello\\x1b[2J\\x0afake" in text
    assert text.count("\n") == 1
    assert "s3cret" not in text


async def test_saying_something_does_not_block_the_event_loop(told: Settings) -> None:
    with await asyncio.to_thread(logs.configure, told, foreground=False) as begun:
        for number in range(100):
            structlog.get_logger("x").info("line", number=number)
        await asyncio.to_thread(begun.flush)
        assert [line["number"] for line in lines(told)] == list(range(100))
        await asyncio.to_thread(begun.close)


def test_no_line_is_lost_or_doubled_when_files_change(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", bytes_max=1000, kept=100)
    for number in range(2000):
        file.write(f"line {number} {'x' * (number % 50)}")
    file.close()
    written = sorted(tmp_path.iterdir(), key=lambda path: -int(path.suffix[1:] or 0))
    read = [line.split()[1] for path in written for line in path.read_text().splitlines()]
    assert read == [str(number) for number in range(2000)]
    assert all(path.stat().st_size <= 1000 for path in written)


def test_only_as_many_full_files_are_kept_as_wanted(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", bytes_max=100, kept=2)
    for number in range(100):
        file.write(f"line {number}")
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1", "log.2"]


def test_a_line_larger_than_a_file_is_written_whole(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", bytes_max=10, kept=2)
    for text in ("a" * 50, "b" * 50):
        file.write(text)
    file.close()
    assert (tmp_path / "log").read_text() == "b" * 50 + "\n"
    assert (tmp_path / "log.1").read_text() == "a" * 50 + "\n"


def test_a_file_that_somebody_moved_or_removed_is_begun_again(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", bytes_max=1000, kept=2)
    file.write("one")
    (tmp_path / "log").rename(tmp_path / "mine")
    file.write("two")
    (tmp_path / "log").unlink()
    file.write("three")
    file.close()
    assert (tmp_path / "mine").read_text() == "one\n"
    assert (tmp_path / "log").read_text() == "three\n"


def test_where_files_cannot_be_renamed_the_present_one_grows(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", bytes_max=10, kept=2)
    file.write("first")
    tmp_path.chmod(0o500)
    with unprivileged():
        file.write("second line")
    tmp_path.chmod(0o700)
    file.close()
    assert (tmp_path / "log").read_text() == "first\nsecond line\n"


def test_a_line_that_the_file_cannot_take_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").write_text("not a log")
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    file = LogFile(tmp_path / "log", bytes_max=10, kept=2)
    file.write("important")
    file.close()
    assert capsys.readouterr().err.endswith(": important\n")
    assert (tmp_path / "elsewhere").read_text() == "not a log"


@pytest.mark.fault
def test_a_kill_while_files_change_tears_no_line(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from coven.daemon.log_file import LogFile
file = LogFile(Path({str(tmp_path / "log")!r}), bytes_max=2000, kept=1000)
number = 0
while True:
    file.write(f"line {{number}}")
    number += 1
"""
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        eventually_here(lambda: len(list(tmp_path.iterdir())) > 20)
        os.kill(process.pid, signal.SIGKILL)
    written = sorted(tmp_path.iterdir(), key=lambda path: -int(path.suffix[1:] or 0))
    read = [line for path in written for line in path.read_text().splitlines(keepends=True)]
    assert read == [f"line {number}\n" for number in range(len(read))]
