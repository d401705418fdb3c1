"""A daemon is started, asked, stopped and started again, as a person does it."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.cli.program import coven, daemon_of, running

pytestmark = pytest.mark.fault


async def test_up_becomes_the_daemon_and_stop_waits_for_its_end(project: Path):
    async with daemon_of(project) as up:
        status = await coven("status", "--json", within=project)
        assert status.code == 0, status.err
        assert status.document["pid"] == up.process.pid
        assert status.document["running"] is True
        stopped = await coven("stop", "--json", within=project)
        assert (stopped.code, stopped.document["pid"]) == (0, up.process.pid)
        assert await asyncio.wait_for(up.process.wait(), 10) == 0


async def test_a_stop_that_takes_too_long_says_so_and_what_to_do(project: Path):
    async with daemon_of(project) as up:
        up.process.send_signal(signal.SIGSTOP)
        try:
            stop = await coven("--json", "stop", "--timeout", "0.2", within=project)
        finally:
            up.process.send_signal(signal.SIGCONT)
    assert (stop.code, stop.error["code"]) == (1, "DAEMON_STILL_RUNNING")


async def test_stopping_where_nothing_runs_is_fine(tmp_path: Path):
    stopped = await coven("stop", within=tmp_path)
    assert (stopped.code, stopped.err) == (0, "")
    assert stopped.out == f"No daemon is running in {tmp_path}.\n"


async def test_watch_survives_a_killed_daemon_and_tells_everything_once(project: Path):
    async with daemon_of(project) as first, running("watch", within=project) as watch:
        assert await watch.aside() == f"Connected to {project}."
        before = (await coven("notification", "post", "test", "before", within=project)).out.strip()
        assert before in await watch.line()
        first.process.kill()
        assert (await watch.aside()).startswith("The connection broke.")
        async with daemon_of(project):
            assert await watch.aside() == f"Connected to {project}."
            assert "daemon.recovered" in await watch.line()
            after = await coven("notification", "post", "test", "after", within=project)
            assert after.out.strip() in await watch.line()
        assert await watch.interrupt() == 130


async def test_the_store_is_cared_for_with_and_without_a_daemon(project: Path):
    async with daemon_of(project):
        checked = await coven("store", "check", "--json", within=project)
        assert (checked.code, checked.document) == (0, {"ok": True, "problems": []})
        copied = await coven("store", "backup", "live.db", "--json", within=project)
        assert (copied.code, copied.document["path"]) == (0, str(project / "live.db"))
        again = await coven("store", "backup", "live.db", "--json", within=project)
        assert (again.code, again.error["code"]) == (1, "OS_ERROR")
        await coven("stop", within=project)
    checked = await coven("store", "check", "--json", within=project)
    assert (checked.code, checked.document) == (0, {"ok": True, "problems": []})
    copied = await coven("store", "backup", "dead.db", "--json", within=project)
    assert copied.code == 0, copied.err
    assert {path.name for path in project.glob("*.db")} == {"live.db", "dead.db"}


async def test_a_file_of_the_project_is_not_taken_for_a_part_of_python(project: Path):
    (project / "json.py").write_text("raise SystemExit('the wrong json')")
    shown = await coven("config", "show", "--json", within=project)
    assert shown.code == 0, shown.err
