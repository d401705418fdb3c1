"""A relay between a store and its PostgreSQL server that can lose exactly one answer.

It passes bytes on until the client sends a marked word; then it delivers the word or swallows it,
ends every connection, and lets nobody in until it is mended.
"""

import contextlib
import selectors
import socket
import threading
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit


class Relay:
    """A server's socket beside the real one, under its own folder."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = urlsplit(url)
        self._server = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self._folder = folder
        self.url = f"postgresql://postgres@/{parts.path.strip('/')}?host={folder}"
        self._mark: bytes | None = None
        self._deliver = False
        self._broken = False
        self._ending = threading.Event()
        self._sockets: set[socket.socket] = set()

    def __enter__(self) -> "Relay":
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self._folder / ".s.PGSQL.5432"))
        self._door.listen()
        self._threads = [threading.Thread(target=self._let_in, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._door.shutdown(socket.SHUT_RDWR)
        self._hang_up()
        for thread in self._threads:
            thread.join(5)
        self._door.close()

    def cut_at(self, mark: bytes, *, deliver: bool) -> None:
        """End everything when the client sends this; `deliver` says whether the server gets it."""
        self._mark, self._deliver = mark, deliver

    def mend(self) -> None:
        """Let clients in again."""
        self._broken = False

    def _let_in(self) -> None:
        while not self._ending.is_set():
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            if self._broken:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._sockets |= {client, server}
            thread = threading.Thread(target=self._pass, args=(client, server), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, selectors.DefaultSelector() as ready, contextlib.suppress(OSError):
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in ready.select():
                    source, target = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    content = source.recv(65536)
                    if not content:
                        return
                    if source is client and self._mark and self._mark in content:
                        self._break(target, content)
                        return
                    target.sendall(content)

    def _break(self, server: socket.socket, content: bytes) -> None:
        self._mark, self._broken = None, True
        if self._deliver:
            server.sendall(content)
            server.recv(65536)  # the answer that nobody gets
        self._hang_up()

    def _hang_up(self) -> None:
        for each in list(self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
