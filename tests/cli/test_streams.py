"""Programs whose caller has closed the input, the output or the error stream."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import SECONDS_MAX, environment
from tests.eventually import eventually_here

pytestmark = pytest.mark.slow


def _started(closed: str, program: str, *arguments: str, within: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-P", "-m", program, *arguments]
    return subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *words],
        cwd=within,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["notification", "list"], 1), (["config", "show"], 0), (["what"], 2)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_command_does_not_mind(closed: str, arguments: list[str], code: int, tmp_path: Path):
    with _started(closed, "coven", *arguments, within=tmp_path) as process:
        _, told = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == code
    assert "Traceback" not in told


@pytest.mark.fault
@pytest.mark.parametrize(
    ("program", "closed"),
    [
        ("coven", "<&-"),
        ("coven", ">&- 2>&-"),
        ("coven.daemon", "2>&-"),
        ("coven.daemon", "<&- >&- 2>&-"),
    ],
)
def test_a_daemon_starts_and_ends_as_usual(program: str, closed: str, project: Path):
    with _started(closed, program, "up", "--port", "0", within=project) as process:
        try:
            eventually_here((project / ".coven" / "covend.json").exists, within=SECONDS_MAX)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=SECONDS_MAX)
        finally:
            process.kill()
    assert (process.returncode, told) == (0, "")
    assert "daemon stops: SIGTERM" in (project / ".coven" / "covend.log").read_text()
