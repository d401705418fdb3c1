"""A start that cannot be: one clear error and what to do, no traceback, nothing left behind."""

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon.lives import live
from tests.daemon_edge.unprivileged import unprivileged
from tests.upgrades import old_stores

Told = Callable[..., str]
SCHEMA_MESSAGE = "The store has schema 9999, and this version of Coven knows only up to"


@pytest.fixture
def url(engine_name: str, project: Path, store_url: str) -> str:
    """Where the daemon of the project keeps everything."""
    return f"sqlite:{project}/.coven/coven.db" if engine_name == "sqlite" else store_url


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Start a daemon that must be refused; its one message."""

    def refused(project: Path, *arguments: str) -> str:
        capsys.readouterr()
        assert live(project, *arguments) in (1, 11, 12)  # failed, conflict, held by another
        shown = capsys.readouterr()
        assert shown.out == ""
        lines = [line for line in shown.err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 2, shown.err
        assert lines[0].startswith("Error: ")
        assert lines[1], "the remedy"
        assert not list(project.glob(".coven/covend.json"))
        return shown.err

    return refused


def test_a_port_in_use_is_told_with_the_way_to_a_free_one(project: Path, told: Told) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = told(project, "--port", str(port))
    assert f"Port {port} of 127.0.0.1 is in use." in message
    assert "coven up --port 0" in message
    assert live(project) == 0


def test_something_else_in_the_place_of_the_socket_is_told_and_kept(
    project: Path, told: Told
) -> None:
    place = project / ".coven" / "covend.sock"
    place.parent.mkdir()
    place.write_text("theirs")
    assert "something else is in its place" in told(project)
    assert place.read_text() == "theirs"


def test_a_state_directory_that_is_a_file_is_told(project: Path, told: Told) -> None:
    (project / ".coven").write_text("theirs")
    assert f"The directory {project}/.coven cannot be used" in told(project)
    assert (project / ".coven").read_text() == "theirs"


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_read_only_project_is_told(project: Path, told: Told, mode: int) -> None:
    project.chmod(mode)
    try:
        with unprivileged():
            message = told(project)
    finally:
        project.chmod(0o700)
    assert "Permission denied" in message
    assert list(project.iterdir()) == []


def test_a_read_only_state_directory_is_told_and_nothing_in_it_changes(
    project: Path, told: Told
) -> None:
    assert live(project) == 0
    place = project / ".coven"
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    place.chmod(0o500)
    try:
        with unprivileged():
            message = told(project)
    finally:
        place.chmod(0o700)
    assert "writable" in message
    after = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    "content", [b"not a database\n" * 100, b"x", b"SQLite format 3\0" + b"\0" * 4080]
)
def test_a_file_that_is_not_ours_is_told_and_kept(
    project: Path, told: Told, content: bytes
) -> None:
    database = project / ".coven" / "coven.db"
    database.parent.mkdir()
    database.write_bytes(content)
    message = told(project)
    assert "coven.db is not a database of Coven." in message
    assert "It was left as it is." in message
    assert database.read_bytes() == content
    assert not database.with_name("coven.db-wal").exists()


def test_the_database_of_another_program_is_told_and_kept(project: Path, told: Told) -> None:
    database = project / ".coven" / "coven.db"
    database.parent.mkdir()
    old_stores.run(f"sqlite:{database}", "CREATE TABLE kb.theirs (a)")
    content = database.read_bytes()
    assert "coven.db is not a database of Coven." in told(project)
    assert database.read_bytes() == content


def test_a_damaged_database_is_told_with_the_way_to_its_rows(project: Path, told: Told) -> None:
    assert live(project) == 0
    database = project / ".coven" / "coven.db"
    content = bytearray(database.read_bytes())
    content[100:8192] = b"\xff" * (8192 - 100)
    database.write_bytes(content)
    message = told(project)
    assert "The database file is damaged" in message
    assert ".coven/backups" in message
    assert "coven store dump" in message


def test_a_database_that_is_a_link_is_told_because_its_lock_would_be_elsewhere(
    project: Path, told: Told, tmp_path: Path
) -> None:
    assert live(project) == 0
    database, target = project / ".coven" / "coven.db", tmp_path / "elsewhere.db"
    shutil.move(database, target)
    database.symlink_to(target)
    assert "is a link" in told(project)


def test_a_newer_schema_is_told_and_left_as_it_is(
    project: Path, told: Told, url: str, engine_name: str
) -> None:
    store = "sqlite" if engine_name == "sqlite" else url
    assert live(project, "--store", store) == 0
    old_stores.run(url, "UPDATE kb.meta SET value = '9999' WHERE key = 'schema_version'")
    before = old_stores.rows(url)
    message = told(project, "--store", store)
    assert SCHEMA_MESSAGE in message
    assert "or a newer one" in message
    assert old_stores.rows(url) == before


def test_a_database_server_that_is_not_there_is_told_without_its_password(
    project: Path, told: Told
) -> None:
    message = told(project, "--store", "postgresql://somebody:s3cret@127.0.0.1:1/coven")
    assert "The store cannot be reached" in message
    assert "s3cret" not in message
