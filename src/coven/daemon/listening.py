"""The daemon's sockets: one in `.coven`, one on the loopback address, served by one app.

The sockets are bound before anything is told to anybody, so the address in `covend.json` is true
from its first instant. A socket file that is there already was left by a daemon that is gone: the
lock is ours by now.
"""

import asyncio
import contextlib
import errno
import functools
import logging
import os
import resource
import socket
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import uvicorn

from coven.daemon import connections
from coven.daemon.connections import Bound, Connection
from coven.daemon.files import reason_of
from coven.daemon.model import PortInUse, SocketRefused

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
BACKLOG = 2048
STOP_SECONDS = 5
TCP_CONNECTIONS_MAX = 1000
_LOOK_SECONDS = 1.0
_UNIX_PATH_MAX = 107  # what fits into `struct sockaddr_un`


class _Server(uvicorn.Server):
    """A server of ours: signals belong to the daemon, not to one of its two servers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Listening:
    """Both sockets and who serves them."""

    def __init__(
        self, port: int, path: Path, *, connections_max: int = TCP_CONNECTIONS_MAX
    ) -> None:
        # Half of the descriptors are kept back for the Unix socket, the store and the log.
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._connections_max = min(connections_max, descriptors // 2)
        self._tcp = _bind_port(port)
        try:
            self._unix = _bind_path(path)
        except BaseException:
            self._tcp.close()
            raise
        self._path = path
        self._inode = path.lstat().st_ino
        self._servers: list[_Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._watch: asyncio.Task[None] | None = None
        self.port: int = self._tcp.getsockname()[1]

    @property
    def url(self) -> str:
        """Where the loopback socket answers."""
        return f"http://{HOST}:{self.port}"

    async def serve(self, app: Any) -> None:
        """Answer on both sockets from now on."""
        for bound, limit in ((self._tcp, self._connections_max), (self._unix, None)):
            config = uvicorn.Config(
                _UntilCancelled(app),
                http=cast("Any", functools.partial(Connection, Bound(limit))),
                interface="asgi3",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=connections.KEEP_ALIVE_SECONDS,
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
        self._watch = asyncio.create_task(self._end_late_connections())

    async def close(self) -> None:
        """Take no more requests and let the present ones end, within bounds."""
        for server in self._servers:
            server.should_exit = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._watch is not None:
            self._watch.cancel()
        for connection in self.connections():
            connection.transport.abort()
        self._tcp.close()
        self._unix.close()
        await asyncio.to_thread(self._remove_path)

    def connections(self) -> list[Connection]:
        """All that are open, on both sockets."""
        return [
            cast("Connection", connection)
            for server in self._servers
            for connection in server.server_state.connections
        ]

    async def _end_late_connections(self) -> None:
        # One look at all of them costs less than a timer for each request.
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for connection in self.connections():
                connection.end_if_late(loop.time())

    def _remove_path(self) -> None:
        """Take the socket's name away, unless it is another socket's by now."""
        try:
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("%s could not be removed: %s", self._path.name, reason_of(error))


class _UntilCancelled:
    """Only the end of the daemon cancels a request, and only one that was given its time."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, send)


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
