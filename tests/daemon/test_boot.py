"""The start and the end of a daemon: their order, and what is left when either is cut short."""

import contextlib
import json
import logging
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from coven.config import Settings
from coven.core import failpoints
from coven.core.clock import SystemClock
from coven.core.failpoints import FailpointError
from coven.daemon import boot
from coven.daemon.daemon import Daemon
from coven.store import events
from tests.daemon.lives import at, live
from tests.daemon_edge.unprivileged import unprivileged
from tests.eventually import eventually_here
from tests.faults.harness import RealDaemon, real_daemon

pytestmark = pytest.mark.slow


@pytest.fixture
def engine_name() -> str:
    """The order of things is the same on both."""
    return "sqlite"


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


async def log_of(daemon: Daemon) -> list[tuple[str, object]]:
    """The events that the daemon has written about itself."""
    page = await daemon.store.read(events.page, None, limit=500)
    return [(event.type, json.loads(event.data)) for event in page.items]


async def test_the_address_is_true_and_for_the_owner_only(daemon: Daemon) -> None:
    path = daemon.settings.address_file
    told = json.loads(path.read_text())
    assert told == {
        "pid": os.getpid(),
        "url": daemon.url,
        "socket": daemon.socket,
        "version": told["version"],
        "started_at": daemon.started_at,
    }
    for kept in (path, daemon.settings.token_file, daemon.settings.socket):
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600, kept
    assert stat.S_IMODE(daemon.settings.state_directory.stat().st_mode) == 0o700
    async with httpx.AsyncClient(base_url=told["url"]) as http:
        assert (await http.get("/health")).status_code == 200


async def test_every_start_and_every_end_is_written_down(
    settings: Settings, clock: SystemClock
) -> None:
    async with boot.running(settings, clock) as daemon:
        daemon.stop("the test is over")
    async with boot.running(settings, clock) as daemon:
        told = await log_of(daemon)
    first, end, second = told
    assert [type for type, _ in told] == ["daemon.recovered", "daemon.stopped", "daemon.recovered"]
    assert end[1] == {"reason": "the test is over"}
    assert (
        first[1]
        == second[1]
        == {"version": boot.coven.__version__, "clean": True} | {"recovered": {}}
    )


async def test_a_start_after_a_crash_says_so(settings: Settings, clock: SystemClock) -> None:
    kept = settings.address_file.with_name("kept")
    async with boot.running(settings, clock):
        shutil.copy(settings.address_file, kept)
    kept.rename(settings.address_file)  # as a killed daemon leaves it
    async with boot.running(settings, clock) as daemon:
        told = await log_of(daemon)
    assert [data["clean"] for type, data in told if type == "daemon.recovered"] == [True, False]


@pytest.mark.parametrize(
    "point",
    [
        "store.lock.taken",
        "daemon.boot.locked",
        "daemon.boot.opened",
        "daemon.boot.recovered",
        "daemon.boot.answering",
    ],
)
async def test_a_start_that_fails_in_the_middle_leaves_nothing_that_is_open(
    settings: Settings, clock: SystemClock, point: str
) -> None:
    failpoints.arm(f"{point}=error")
    with pytest.raises(FailpointError):
        async with boot.running(settings, clock):
            raise AssertionError("it is up although it failed")
    left = {path.name for path in settings.state_directory.iterdir()}
    assert not left & {"covend.json", "covend.sock", "coven.db-wal"}
    async with boot.running(settings, clock) as daemon:
        starts = [type for type, _ in await log_of(daemon)]
    ran = point.endswith(("recovered", "answering"))
    assert starts == ["daemon.recovered"] * (1 + ran)


async def test_an_end_that_cannot_be_written_down_is_an_end_all_the_same(
    settings: Settings, clock: SystemClock
) -> None:
    async with boot.running(settings, clock) as daemon:
        await daemon.store.close()
    assert not settings.address_file.exists()
    async with boot.running(settings, clock) as daemon:
        assert [type for type, _ in await log_of(daemon)] == ["daemon.recovered"] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_daemon_in_good_order(project: Path, number: signal.Signals) -> None:
    def visit(http: httpx.Client) -> None:
        os.kill(os.getpid(), number)
        eventually_here(lambda: not (project / ".coven" / "covend.json").exists())

    assert live(project, visit=visit) == 0
    told: list[str] = []

    def look(http: httpx.Client) -> None:
        told.extend(event["type"] for event in http.get("/events").json()["items"])

    assert live(project, visit=look) == 0
    assert told == ["daemon.recovered", "daemon.stopped", "daemon.recovered"]


def test_an_open_stream_does_not_hold_up_the_end(project: Path) -> None:
    ended: list[bool] = []

    def visit(http: httpx.Client) -> None:
        headers = {"Accept": "text/event-stream"}
        with http.stream("GET", "/events", headers=headers) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("id: ")
            with at(project) as other:
                assert other.post("/shutdown").status_code == 202
            ended.append(bool(list(lines)))

    assert live(project, visit=visit) == 0
    assert ended == [True]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "p") as daemon:
        yield daemon


@pytest.mark.fault
def test_who_signals_twice_does_not_wait_for_requests_under_way(process: RealDaemon) -> None:
    assert process.start(), process.output
    assert process.process is not None
    state = process.directory / ".coven"
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(str(state / "covend.sock"))
        # Whoever asks for much and reads none of it has a request under way.
        slow.settimeout(2)
        with contextlib.suppress(TimeoutError):
            slow.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100_000)
        process.process.send_signal(signal.SIGTERM)
        log = state / "covend.log"  # a thread writes it, so even its first line may come late
        eventually_here(lambda: log.exists() and "the daemon stops: SIGTERM" in log.read_text())
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(10) == 1
    assert "Traceback" not in process.output
    assert process.start(), process.output
    assert process.stop() == 0


def test_a_daemon_that_ignores_the_hangup_from_the_start_outlives_its_terminal(
    project: Path,
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what `nohup` does

    def visit(http: httpx.Client) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        assert http.get("/health").status_code == 200
        assert http.post("/shutdown").status_code == 202

    try:
        assert live(project, visit=visit) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "asked to by" in (project / ".coven" / "covend.log").read_text()


def test_the_daemon_may_open_as_many_files_as_the_system_allows(project: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    seen: list[tuple[int, int]] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
    try:
        live(project, visit=lambda _: seen.append(resource.getrlimit(resource.RLIMIT_NOFILE)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert seen == [(before[1], before[1])]


async def test_the_end_leaves_a_socket_that_is_not_its_own(
    settings: Settings, clock: SystemClock
) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        async with boot.running(settings, clock):
            settings.socket.unlink()
            other.bind(str(settings.socket))
        assert settings.socket.exists()


async def test_an_address_that_somebody_changed_is_right_again_after_the_next_start(
    settings: Settings, clock: SystemClock
) -> None:
    async with boot.running(settings, clock):
        told = json.loads(settings.address_file.read_text())
        settings.address_file.write_text(json.dumps({**told, "pid": 1}))
    assert settings.address_file.exists(), "it may be another daemon's"
    async with boot.running(settings, clock):
        assert json.loads(settings.address_file.read_text())["pid"] == os.getpid()
    async with boot.running(settings, clock) as daemon:
        log = await log_of(daemon)
    clean = [data["clean"] for type, data in log if type == "daemon.recovered"]
    assert clean == [True, False, True]


async def test_files_that_cannot_be_removed_do_not_spoil_the_end(
    settings: Settings, clock: SystemClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def refuse(path: Path, *, pid: int) -> None:
        with unprivileged():
            path.unlink()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coven.daemon.address.remove", refuse)
        async with boot.running(settings, clock):
            settings.state_directory.chmod(0o500)
    settings.state_directory.chmod(0o700)
    assert "covend.json could not be removed: Permission denied" in caplog.text
    assert settings.address_file.exists()


@pytest.mark.fault
def test_an_announcement_that_cannot_be_printed_does_not_end_the_daemon(tmp_path: Path) -> None:
    with real_daemon(tmp_path / "full") as daemon, open("/dev/full", "wb") as full:
        daemon.process = subprocess.Popen(
            [sys.executable, "-m", "coven.daemon", "up", "--port", "0"],
            cwd=daemon.directory,
            stdout=full,
            stderr=subprocess.DEVNULL,
        )
        log = daemon.directory / ".coven" / "covend.log"
        eventually_here(lambda: daemon.is_dead or (daemon.answers and log.exists()), within=30)
        eventually_here(lambda: "the daemon is up" in log.read_text())
        assert "could not be printed" in log.read_text()
        assert daemon.stop() == 0


@pytest.mark.fault
@pytest.mark.parametrize("lost", ["coven.db", "."])
def test_a_daemon_whose_files_were_taken_away_ends(process: RealDaemon, lost: str) -> None:
    assert process.start(), process.output
    assert process.process is not None
    state = process.directory / ".coven"
    (state / lost).rename(process.directory / "lost")
    assert process.process.wait(20) == 1
    assert "was removed or replaced while the daemon worked on it" in process.output
    assert "Traceback" not in process.output
    if lost != ".":
        assert "was removed or replaced" in (state / "covend.log").read_text()


async def test_files_that_are_where_they_were_are_no_reason_to_end(daemon: Daemon) -> None:
    record = await daemon.loops.run("lost_files")
    assert record.last_counts == {"lost": 0}
    assert not daemon.stopping.is_set()
