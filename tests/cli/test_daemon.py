"""A daemon is started, asked, stopped and started again, as a person does it."""

import asyncio
import re
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


async def test_the_store_is_cared_for_in_the_same_way_with_and_without_a_daemon(project: Path):
    async with daemon_of(project):
        live = await _cared_for(project, "live")
        await coven("stop", within=project)
    assert live == await _cared_for(project, "dead")
    assert {path.name for path in project.glob("*.db")} == {"live.db", "dead.db"}
    assert list((project / ".coven" / "backups").glob("*.db")) == []


async def _cared_for(project: Path, name: str) -> list[tuple[int, str, str]]:
    """What the commands say about the store, without what differs from call to call."""
    commands = [
        ("check",),
        ("check", "--json"),
        ("backup", f"{name}.db"),
        ("backup", f"{name}.db"),
        ("backup", f"{name}.db", "--json"),
        ("backup", f"missing/{name}.db"),
        ("dump", f"{name}.jsonl", "--json"),
        ("dump", f"{name}.jsonl"),
        ("dump", f"missing/{name}.jsonl", "--json"),
    ]
    told = [await coven("store", *command, within=project) for command in commands]
    assert [ended.code for ended in told] == [0, 0, 0, 11, 11, 10, 0, 11, 10]
    assert told[0].out == "The store is sound.\n"
    assert told[1].document == {"ok": True, "problems": []}
    copy = project / f"{name}.db"
    assert (copy.stat().st_nlink, copy.stat().st_mode & 0o777) == (1, 0o600)
    assert told[2].out == f"{copy} ({copy.stat().st_size} bytes)\n"
    assert told[4].error["code"] == "FILE_EXISTS"
    lines = len((project / f"{name}.jsonl").read_text().splitlines())
    assert told[6].document == {"path": str(project / f"{name}.jsonl"), "lines": lines}
    assert not (project / "missing").exists()
    return [
        (
            ended.code,
            re.sub(r"\d+", "N", ended.out.replace(name, "…")),
            ended.err.replace(name, "…"),
        )
        for ended in told
    ]


async def test_a_copy_that_cannot_be_moved_is_told_with_the_place_where_it_is(project: Path):
    (project / "full").symlink_to("/proc/self")  # a folder in which nobody can make a file
    async with daemon_of(project):
        refused = await coven("store", "backup", "full/copy.db", "--json", within=project)
    assert (refused.code, refused.error["code"]) == (1, "BACKUP_NOT_MOVED")
    kept = Path(refused.error["details"]["path"])
    assert kept.parent == project / ".coven" / "backups"
    assert kept.exists()
    assert str(kept) in refused.error["message"]


async def test_a_file_of_the_project_is_not_taken_for_a_part_of_python(project: Path):
    (project / "json.py").write_text("raise SystemExit('the wrong json')")
    shown = await coven("config", "show", "--json", within=project)
    assert shown.code == 0, shown.err
