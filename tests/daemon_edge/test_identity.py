"""The small files that say which daemon this is: token, node, address."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coven.core import failpoints, ids
from coven.daemon import address, files, node, token
from coven.daemon.address import Address
from coven.daemon.node import NodeFileUnusable
from coven.daemon.token import TokenFileUnusable
from tests.daemon_edge.unprivileged import unprivileged


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    made = token.ensure(tmp_path / "token")
    assert token.ensure(tmp_path / "token") == made
    assert (tmp_path / "token").read_text() == made + "\n"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert len(made) >= 43
    assert token.ensure(tmp_path / "another") != made


def test_a_token_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("my-own-long-enough-token")
    (tmp_path / "token").chmod(0o644)
    assert token.ensure(tmp_path / "token") == "my-own-long-enough-token"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_an_empty_token_file_gets_a_new_token(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    assert token.ensure(tmp_path / "token").startswith("coven_")


@pytest.mark.parametrize("content", ["short", "two tokens\nin one-file", "é" * 40, "x" * 600])
def test_what_is_not_a_token_is_refused_and_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(TokenFileUnusable) as refused:
        token.ensure(tmp_path / "token")
    assert content not in refused.value.message
    assert (tmp_path / "token").read_text() == content


def test_a_token_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TokenFileUnusable):
        token.ensure(tmp_path / "token")
    assert not (tmp_path / "elsewhere").exists()


def test_a_token_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with unprivileged(), pytest.raises(TokenFileUnusable, match="Permission denied"):
        token.ensure(tmp_path / "token")
    tmp_path.chmod(0o700)


def test_a_node_keeps_its_id(tmp_path: Path) -> None:
    made = node.ensure(tmp_path / "node")
    assert ids.parse(made) == made
    assert node.ensure(tmp_path / "node") == made


@pytest.mark.parametrize("content", ["", "node-1", "\0" * 36])
def test_a_damaged_node_file_is_told_and_never_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "node").write_text(content)
    with pytest.raises(NodeFileUnusable):
        node.ensure(tmp_path / "node")
    assert (tmp_path / "node").read_text() == content


def _address(pid: int) -> Address:
    return Address(
        pid=pid,
        url="http://127.0.0.1:1",
        socket="covend.sock",
        version="1",
        started_at="2030-01-01T00:00:00.000000Z",
    )


def test_an_address_is_found_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "covend.json"
    assert address.find(path) is None
    address.write(path, _address(7))
    assert address.find(path) == _address(7)


def test_only_its_own_address_is_removed_by_a_daemon(tmp_path: Path) -> None:
    path = tmp_path / "covend.json"
    address.write(path, _address(7))
    address.remove(path, pid=8)
    assert path.exists()
    address.remove(path, pid=7)
    address.remove(path, pid=7)
    assert not path.exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', "\xff"])
def test_an_address_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "covend.json").write_text(content, encoding="latin-1")
    assert address.find(tmp_path / "covend.json") is None


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    files.write(tmp_path / "file", b"old", mode=0o600)
    failpoints.arm("daemon.file.written=error")
    try:
        with pytest.raises(failpoints.FailpointError):
            files.write(tmp_path / "file", b"new", mode=0o600)
    finally:
        failpoints.arm("")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("point", "content"), [("daemon.file.written", b"old"), ("daemon.file.renamed", b"new")]
)
def test_a_kill_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, point: str, content: bytes
) -> None:
    files.write(tmp_path / "file", b"old", mode=0o600)
    script = f"""
from pathlib import Path
from coven.core import failpoints
from coven.daemon import files
failpoints.arm("{point}=kill")
files.write(Path({str(tmp_path / "file")!r}), b"new", mode=0o600)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == content
    files.write(tmp_path / "file", b"next", mode=0o600)
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "the remains are swept away"
