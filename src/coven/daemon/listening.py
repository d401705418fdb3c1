"""The daemon's sockets: one in `.coven`, one on the loopback address, served by one app.

The sockets are bound before anything is told to anybody, so the address in `covend.json` is true
from its first instant. A socket file that is there already was left by a daemon that is gone: the
lock is ours by now.
"""

import asyncio
import contextlib
import errno
import os
import socket
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from coven.daemon.files import reason_of
from coven.daemon.model import PortInUse, SocketRefused

HOST = "127.0.0.1"
BACKLOG = 2048
STOP_SECONDS = 5
_UNIX_PATH_MAX = 107  # what fits into `struct sockaddr_un`


class _Server(uvicorn.Server):
    """A server of ours: signals belong to the daemon, not to one of its two servers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Joining:
    """A transport that sends the head of a reply with what follows: one system call, not two."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._head and data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._send_head)  # where no body follows at once
            return
        head, self._head = self._head, b""
        self._transport.write(head + data)

    def _send_head(self) -> None:
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self._send_head()
        self._transport.close()


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol on such a transport."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(cast("asyncio.Transport", _Joining(transport)))


class Listening:
    """Both sockets and who serves them."""

    def __init__(self, port: int, path: Path) -> None:
        self._tcp = _bind_port(port)
        try:
            self._unix = _bind_path(path)
        except BaseException:
            self._tcp.close()
            raise
        self._path = path
        self._servers: list[_Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.port: int = self._tcp.getsockname()[1]

    @property
    def url(self) -> str:
        """Where the loopback socket answers."""
        return f"http://{HOST}:{self.port}"

    async def serve(self, app: Any) -> None:
        """Answer on both sockets from now on."""
        for bound in (self._tcp, self._unix):
            config = uvicorn.Config(
                app,
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
            server = _Server(config)
            self._servers.append(server)
            self._tasks.append(asyncio.create_task(server.serve(sockets=[bound])))
        while not all(server.started for server in self._servers):
            failed = [task for task in self._tasks if task.done()]
            for task in failed:
                task.result()
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        """Take no more requests and let the present ones end, within bounds."""
        for server in self._servers:
            server.should_exit = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tcp.close()
        self._unix.close()
        await asyncio.to_thread(self._path.unlink, missing_ok=True)


def _bind_port(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Every connection inherits it: a reply must not wait until the one before is acknowledged.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        bound.bind((HOST, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(port=port) from error
        raise SocketRefused(address=f"{HOST}:{port}", reason=reason_of(error)) from error
    bound.setblocking(False)
    return bound


def _bind(bound: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) <= _UNIX_PATH_MAX:
        bound.bind(str(path))
        return
    # A socket's name must be short, a project's path may be long: go through its directory.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        bound.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _bind_path(path: Path) -> socket.socket:
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_symlink() or (path.exists() and not stat.S_ISSOCK(path.lstat().st_mode)):
            raise SocketRefused(address=str(path), reason="something else is in its place")
        path.unlink(missing_ok=True)
        # The mode is right from the first instant: nobody can connect between bind and chmod.
        before = os.umask(0o177)
        try:
            _bind(bound, path)
        finally:
            os.umask(before)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise SocketRefused(address=str(path), reason=reason_of(error)) from error
    except SocketRefused:
        bound.close()
        raise
    bound.setblocking(False)
    return bound
