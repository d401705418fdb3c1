"""The file of the log: begun anew when it is full, and the full ones kept beside it for a while.

A line is written whole and at once, and a full file is renamed and never copied, so no line is lost
or doubled when files change, also when the process is killed in the middle of it. One process
writes: the holder of the lock.
"""

import contextlib
import os
import sys
from pathlib import Path


class LogFile:
    """`covend.log`, and `covend.log.1` (the youngest) to `covend.log.5` when it was full."""

    def __init__(self, path: Path, *, bytes_max: int, kept: int) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._kept = kept
        self._file: int | None = None
        self._size = 0
        self._is_torn = False

    def write(self, line: str) -> None:
        """Write one line; to standard error if the file cannot take it."""
        try:
            self._append(line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            self.close()
            # Nowhere else is left, and a daemon that cannot log must still be able to say so.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                reason = os.strerror(error.errno) if error.errno else str(error)
                print(f"{self._path.name}: {reason}: {line}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Let the file go; a later line opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, content: bytes) -> None:
        if self._file is None or self._is_elsewhere(self._file):
            self._open()
        if self._size and self._size + len(content) > self._bytes_max:
            self._rotate()
        if self._is_torn:
            content = b"\n" + content
        view = memoryview(content)
        while view:
            assert self._file is not None
            count = os.write(self._file, view)
            self._size += count
            view = view[count:]
            # A disk that fills up may take half a line; the next one must not be glued to it.
            self._is_torn = bool(view)

    def _open(self) -> None:
        self.close()
        # A link is not followed: in a directory that came from elsewhere it could lead anywhere.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(self._path, flags | os.O_NONBLOCK, 0o600)
        self._size = os.fstat(self._file).st_size

    def _is_elsewhere(self, file: int) -> bool:
        """Whether somebody moved the file away, as logrotate does, or removed it."""
        ours = os.fstat(file)
        try:
            there = os.lstat(self._path)
        except FileNotFoundError:
            return True
        return (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino)

    def _rotate(self) -> None:
        try:
            for number in range(self._kept - 1, 0, -1):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(self._numbered(number), self._numbered(number + 1))
            os.rename(self._path, self._numbered(1))
        except OSError:
            return  # a file that grows too large is better than a line that is lost
        self._open()

    def _numbered(self, number: int) -> str:
        return f"{self._path}.{number}"
