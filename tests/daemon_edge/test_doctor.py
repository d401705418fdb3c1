"""What the doctor finds: real machines differ, so mostly what is broken on purpose."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from threading import Thread

import pytest

from coven import config
from coven.core.clock import SystemClock
from coven.daemon import doctor, files, powers
from coven.daemon.powers import Check, Status
from coven.store import lock
from tests.daemon_edge.unprivileged import unprivileged


def examine(project: Path, *, port: int = 0, **environment: str) -> dict[str, Check]:
    settings = config.load(project, environment=environment, port=port)
    return {check.name: check for check in doctor.examine(settings, environment=environment)}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    """Something that answers as Docker does."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"Version": "27.1"}' if self.path == "/version" else b"?"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

        def address_string(self) -> str:
            return "socket"

    path = tmp_path / "docker.sock"
    with ThreadingUnixStreamServer(str(path), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_the_doctor_leaves_nothing_behind(project: Path) -> None:
    examine(project)
    assert list(project.iterdir()) == []


def test_a_daemon_can_run_in_an_ordinary_directory(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = config.load(project, environment={}, port=0)
    assert doctor.run(settings, environment={}, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert {check["status"] for check in told["checks"]} <= {"ok", "warn"}
    for check in told["checks"]:
        assert set(check) == {"name", "status", "found", "remedy"}
        assert (check["remedy"] is None) == (check["status"] == "ok")


def test_a_person_gets_a_table_and_a_verdict(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".coven").write_text("a file")
    settings = config.load(project, environment={}, port=0)
    assert doctor.run(settings, environment={}) == 1
    text = capsys.readouterr().out
    assert "python" in text
    assert "The daemon cannot run here yet." in text


def test_a_read_only_directory_is_a_failure(project: Path) -> None:
    settings = config.load(project, environment={}, port=0)
    project.chmod(0o500)
    with unprivileged():
        # Without threads of its own, because they would have root's power again.
        found = doctor._state_directory(settings)
    project.chmod(0o700)
    assert found.status is Status.FAIL
    assert "Permission denied" in found.found


def test_a_port_in_use_is_a_failure_unless_a_daemon_runs_here(project: Path) -> None:
    files.make_state_directory(project / ".coven")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert examine(project, port=port)["port"].status is Status.FAIL
        with lock.take(project / ".coven" / "coven.lock", clock=SystemClock()):
            checks = examine(project, port=port)
    assert checks["port"].status is Status.OK
    assert "a daemon runs here" in checks["lock"].found


def test_what_configuration_and_old_files_say_is_repeated(project: Path) -> None:
    files.make_state_directory(project / ".coven")
    (project / ".coven" / "config.json").write_text("{")
    (project / ".coven" / "state.json").write_text("{}")
    checks = examine(project)
    assert checks["configuration"].status is Status.WARN
    assert "is not JSON" in checks["configuration"].found
    assert "Run `coven migrate`" in (checks["older state"].remedy or "")


def test_a_path_too_long_for_a_socket_is_a_warning_because_the_daemon_runs_there(
    tmp_path: Path,
) -> None:
    socket = examine(tmp_path / ("x" * 120))["socket"]
    assert socket.status is Status.WARN
    assert "the port and the token instead" in (socket.remedy or "")


def test_a_database_server_that_does_not_answer_is_told_without_its_password(
    project: Path,
) -> None:
    store = examine(project, COVEN_STORE="postgresql://u:s3cret@127.0.0.1:1/d")["store"]
    assert store.status is Status.FAIL
    assert "s3cret" not in store.found + (store.remedy or "")


def test_a_database_server_that_answers_is_told_with_its_version(
    project: Path, postgres_url: str
) -> None:
    store = examine(project, COVEN_STORE=postgres_url)["store"]
    assert store.status is Status.OK
    assert store.found.startswith("PostgreSQL 1")


def test_an_engine_that_answers_is_found(project: Path, engine: Path) -> None:
    docker = examine(project, DOCKER_HOST=f"unix://{engine}")["docker"]
    assert (docker.status, docker.found) == (Status.OK, "engine 27.1")


@pytest.mark.parametrize("host", ["unix:///nowhere.sock", "tcp://10.0.0.1:2375"])
def test_an_engine_that_cannot_be_used_is_a_warning(project: Path, host: str) -> None:
    assert examine(project, DOCKER_HOST=host)["docker"].status is Status.WARN


@pytest.mark.parametrize(
    ("script", "status", "found"),
    [
        ("echo tool 1.2; echo more", Status.OK, "tool 1.2"),
        ("echo broken >&2; exit 3", Status.WARN, "does not start: broken"),
        ("exit 3", Status.WARN, "does not start: exit code 3"),
    ],
)
def test_a_program_is_tried(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    status: Status,
    found: str,
) -> None:
    (tmp_path / "tool").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    check = powers._program("tool", ["tool", "--version"], "Install it.")
    assert (check.status, check.found) == (status, found)
    assert powers._program("none", ["none"], "Install it.").found == "not installed"


def test_a_program_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(powers, "ANSWER_SECONDS_MAX", 0.1)
    assert powers._answer(["sleep", "60"]) == (False, "no answer within 0.1 s")


def test_the_kernel_says_which_file_system_holds_a_path() -> None:
    assert doctor._kind_of_file_system(Path("/proc/self")) == "proc"
    assert doctor._kind_of_file_system(Path("/sys")) == "sysfs"


def test_a_check_that_breaks_is_a_finding(project: Path) -> None:
    def odd() -> Check:
        raise RuntimeError("no such sensor")

    check = doctor._guarded(odd)
    assert (check.name, check.status) == ("odd", Status.WARN)
    assert "no such sensor" in check.found


def test_the_doctor_works_without_the_rest_of_the_daemon(project: Path) -> None:
    """A broken installation is when one needs it."""
    script = """
import sys
for name in ("uvicorn", "fastapi", "uvloop"):
    sys.modules[name] = None
from coven.daemon.__main__ import main
sys.exit(main(["doctor", "--dir", sys.argv[1], "--json"], {"COVEN_PORT": "0"}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True
