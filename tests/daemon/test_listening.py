"""The sockets: what is in their place, who may use them, and what a refusal says."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import httpx
import pytest

from coven.core.errors import CovenError
from coven.daemon.daemon import Daemon
from coven.daemon.listening import HOST, Listening
from coven.daemon.model import PortInUse, SocketRefused
from tests.daemon_edge.unprivileged import unprivileged


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "covend.sock"


def refusal(port: int, path: Path) -> CovenError:
    with pytest.raises(CovenError) as refused:
        Listening(port, path)
    return refused.value


async def test_both_sockets_are_there_before_anybody_answers_and_gone_at_the_end(
    path: Path,
) -> None:
    listening = await asyncio.to_thread(Listening, 0, path)
    assert listening.url == f"http://{HOST}:{listening.port}"
    with socket.create_connection((HOST, listening.port)), socket.socket(socket.AF_UNIX) as there:
        there.connect(str(path))
    await listening.close()
    assert not path.exists()
    again = await asyncio.to_thread(Listening, listening.port, path)
    await again.close()


async def test_only_the_owner_may_use_the_socket(path: Path) -> None:
    before = os.umask(0)
    try:
        listening = await asyncio.to_thread(Listening, 0, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await listening.close()


async def test_making_the_socket_leaves_the_umask_as_it_was(path: Path) -> None:
    before = os.umask(0o027)
    try:
        listening = await asyncio.to_thread(Listening, 0, path)
        assert os.umask(0o027) == 0o027
        await listening.close()
    finally:
        os.umask(before)


def test_a_port_in_use_names_the_port_and_the_way_to_a_free_one(path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        error = refusal(port, path)
    assert isinstance(error, PortInUse)
    assert str(port) in error.message
    assert "--port 0" in error.remedy
    assert not path.exists(), "nothing is left of a start that was refused"


async def test_a_socket_that_a_killed_daemon_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    listening = await asyncio.to_thread(Listening, 0, path)
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(str(path))
    await listening.close()


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_something_else_in_the_place_of_the_socket_is_never_removed(path: Path, kind: str) -> None:
    target = path.with_name("target")
    target.write_text("theirs")
    match kind:
        case "file":
            path.write_text("theirs")
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to(target)
    before = os.lstat(path)
    error = refusal(0, path)
    assert isinstance(error, SocketRefused)
    assert str(path) in error.message
    assert "something else is in its place" in error.message
    assert os.lstat(path).st_ino == before.st_ino
    assert target.read_text() == "theirs"


async def test_a_path_that_is_too_long_for_a_sockets_name_is_reached_all_the_same(
    tmp_path: Path,
) -> None:
    folder = tmp_path / ("x" * 110)
    folder.mkdir()
    path = folder / "covend.sock"
    listening = await asyncio.to_thread(Listening, 0, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    directory = os.open(folder, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(f"/proc/self/fd/{directory}/covend.sock")
    os.close(directory)
    await listening.close()
    assert list(folder.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_told_with_what_to_do(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        with unprivileged():
            error = refusal(0, path)
    finally:
        path.parent.chmod(0o700)
    assert isinstance(error, SocketRefused)
    assert "Permission denied" in error.message
    assert "writable" in error.remedy


async def test_the_same_daemon_answers_on_both_sockets(daemon: Daemon) -> None:
    over_socket = httpx.AsyncHTTPTransport(uds=daemon.socket)
    async with (
        httpx.AsyncClient(transport=over_socket, base_url="http://localhost") as near,
        httpx.AsyncClient(base_url=daemon.url) as far,
    ):
        assert (await near.get("/state")).status_code == 200, "the socket needs no token"
        assert (await far.get("/state")).status_code == 401
        pids = [(await http.get("/health")).json()["pid"] for http in (near, far)]
    assert pids == [os.getpid()] * 2
