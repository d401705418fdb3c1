"""The start and the end of a daemon: their order, and what is left when either is cut short."""

import json
import os
import shutil
import signal
import socket
import stat
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
from tests.eventually import eventually_here
from tests.faults.harness import RealDaemon, real_daemon


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
        slow.sendall(
            b"POST /api/v1/notifications HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        process.process.send_signal(signal.SIGTERM)
        log = state / "covend.log"  # a thread writes it, so even its first line may come late
        eventually_here(lambda: log.exists() and "the daemon stops: SIGTERM" in log.read_text())
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(10) == 1
    assert "Traceback" not in process.output
    assert process.start(), process.output
    assert process.stop() == 0
