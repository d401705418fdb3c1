"""The care of a store without a daemon: check, dump and backup, as the command line runs them."""

import contextlib
import json
from pathlib import Path

import apsw
import httpx
import pytest

from coven.daemon.__main__ import main
from tests.daemon.lives import live
from tests.upgrades import old_stores

pytestmark = pytest.mark.slow

Output = pytest.CaptureFixture[str]


@pytest.fixture
def store(engine_name: str, store_url: str) -> list[str]:
    """How a verb is told which engine it is about."""
    return ["--store", "sqlite" if engine_name == "sqlite" else store_url]


@pytest.fixture
def worked(project: Path, store: list[str], capsys: Output) -> Path:
    """A project in which a daemon has run and something was posted."""

    def visit(http: httpx.Client) -> None:
        draft = {"kind": "test", "title": "“It works” – für alle"}
        assert http.post("/api/v1/notifications", json=draft).status_code == 201

    assert live(project, *store, visit=visit) == 0
    capsys.readouterr()
    return project


def ask(project: Path, *arguments: str) -> int:
    return main(["store", *arguments, "--dir", str(project)], {})


def test_a_store_in_good_order_is_said_to_be(
    worked: Path, store: list[str], capsys: Output
) -> None:
    assert ask(worked, "check", *store) == 0
    assert capsys.readouterr().out == "The store is sound.\n"
    assert ask(worked, "check", "--json", *store) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "problems": []}


def test_a_dump_holds_every_row_as_a_line(worked: Path, store: list[str], capsys: Output) -> None:
    assert ask(worked, "dump", *store) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    titles = [line["row"]["title"] for line in lines if line["table"] == "notifications"]
    assert titles == ["“It works” – für alle"]
    assert {"meta", "events", "event_head"} <= {line["table"] for line in lines}
    target = worked / "all.jsonl"
    assert ask(worked, "dump", str(target), *store) == 0
    written = target.read_text(encoding="utf-8").splitlines()
    assert capsys.readouterr().out == f"{target} ({len(lines)} lines)\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line) for line in written] == lines


def test_a_dump_overwrites_nothing(worked: Path, store: list[str], capsys: Output) -> None:
    (worked / "mine").write_text("theirs")
    assert ask(worked, "dump", str(worked / "mine"), *store) == 11
    assert f"There is something at {worked}/mine already." in capsys.readouterr().err
    assert (worked / "mine").read_text() == "theirs"


def test_a_dump_works_beside_a_running_daemon_and_the_others_say_who_runs(
    worked: Path, store: list[str], capsys: Output
) -> None:
    codes: dict[str, int] = {}

    def visit(http: httpx.Client) -> None:
        for verb in ("dump", "check", "backup"):
            codes[verb] = ask(worked, verb, *store)

    assert live(worked, *store, visit=visit) == 0
    assert codes == {"dump": 0, "check": 12, "backup": 12}
    assert capsys.readouterr().err.count("Database locked by another process") == 2


def test_a_backup_can_be_started_from(
    worked: Path, store: list[str], engine_name: str, capsys: Output, tmp_path: Path
) -> None:
    target = worked / "copy.db"
    if engine_name == "postgres":
        assert ask(worked, "backup", str(target), *store) == 11
        assert "pg_dump" in capsys.readouterr().err
        return
    assert ask(worked, "backup", str(target), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"path": str(target), "bytes": target.stat().st_size}
    assert ask(worked, "backup", str(target)) == 11, "nothing is overwritten"
    assert ask(worked, "backup", str(worked / "missing" / "copy.db")) == 10
    assert not (worked / "missing").exists()
    other = tmp_path / "other"
    (other / ".coven").mkdir(parents=True)
    target.rename(other / ".coven" / "coven.db")
    seen: list[str] = []

    def visit(http: httpx.Client) -> None:
        items = http.get("/api/v1/notifications").json()["items"]
        seen.extend(item["title"] for item in items)

    assert live(other, visit=visit) == 0
    assert seen == ["“It works” – für alle"]


def test_damage_is_found_and_what_can_be_read_is_dumped(project: Path, capsys: Output) -> None:
    assert live(project) == 0
    database = project / ".coven" / "coven.db"
    tables = old_stores.rows(f"sqlite:{database}")
    content = bytearray(database.read_bytes())
    # The second half of the file is damaged: pages of tables and indexes, not the schema's first.
    half = len(content) // 8192 * 4096
    content[half:] = b"\xff" * (len(content) - half)
    database.write_bytes(content)
    capsys.readouterr()
    assert ask(project, "check") == 1
    shown = capsys.readouterr()
    assert shown.out or "damaged" in shown.err
    assert "Traceback" not in shown.err
    assert ask(project, "dump") == 1
    shown = capsys.readouterr()
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert {line["table"] for line in lines} <= set(tables)
    assert "damaged" in shown.err


@pytest.mark.parametrize("to_file", [False, True])
def test_a_dump_that_could_not_read_everything_says_so_and_ends_with_1(
    project: Path, capsys: Output, *, to_file: bool
) -> None:
    assert live(project) == 0
    database = project / ".coven" / "coven.db"
    with contextlib.closing(apsw.Connection(str(database))) as connection:
        find = "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
        (page,) = next(iter(connection.execute(find)))
    with database.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    target = project / "all.jsonl"
    capsys.readouterr()
    assert ask(project, "dump", *([str(target)] if to_file else [])) == 1
    shown = capsys.readouterr()
    text = target.read_text(encoding="utf-8") if to_file else shown.out
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["table"] for line in lines if "unreadable" in line] == ["events"]
    assert "meta" in {line["table"] for line in lines if "row" in line}
    assert shown.err.startswith("Error: Not everything could be read of events: ")
    assert len(shown.err.splitlines()) == 1


@pytest.mark.parametrize("verb", ["check", "dump", "backup"])
def test_where_there_is_no_store_none_is_made(project: Path, verb: str, capsys: Output) -> None:
    assert ask(project, verb) == 10
    assert "There is no store in" in capsys.readouterr().err
    assert list(project.iterdir()) == []
