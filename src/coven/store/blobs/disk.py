"""The disk: the few system calls that durability stands on, and folders that no link leads out of.

Everything below the blob folder is reached from the descriptor of its parent, by one plain name at
a time, and never through a symbolic link: whoever plants a link, a pipe or a directory there gets
an error, not a write elsewhere. `Disk` is a class so that tests can put a disk in its place that is
full, that fails, or that forgets at a power cut whatever was not synced.

Not here: what the files mean (`loose`, `packs`) and which of them count (`shelves`).
"""

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from coven.core import ids
from coven.store.blobs.model import (
    BlobsFailed,
    BlobsFull,
    BlobsInUse,
    BlobsReadOnly,
    BlobsUnusable,
    Damaged,
)

_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC
_FULL = {errno.ENOSPC, errno.EDQUOT}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_MISPLACED = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """An open directory: the descriptor that names are looked up from, and its path for people."""

    file: int
    path: Path


class Disk:
    """The system calls that change something."""

    def create(self, folder: Folder, name: str) -> int:
        """A new file for writing; its content will never change, so nobody may write it later."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _SAFE
        return os.open(name, flags, 0o400, dir_fd=folder.file)

    def write(self, file: int, content: bytes | memoryview) -> None:
        """Append all of it."""
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]

    def sync(self, file: int) -> None:
        """Return when everything written to this file, or every name in this folder, is on disk."""
        os.fsync(file)

    def make_folder(self, folder: Folder, name: str) -> None:
        """A new folder, for its owner only."""
        os.mkdir(name, 0o700, dir_fd=folder.file)

    def rename(self, source: Folder, target: Folder, names: tuple[str, str]) -> None:
        """Move a file; what had the new name before is replaced in the same instant."""
        os.rename(names[0], names[1], src_dir_fd=source.file, dst_dir_fd=target.file)

    def unlink(self, folder: Folder, name: str) -> None:
        """Take a name away."""
        os.unlink(name, dir_fd=folder.file)


class Draft:
    """A file that is being written and has no name yet that anybody would look for.

    A caller who gives up may do so while another thread still writes: the lock keeps the descriptor
    from being closed, and reused by somebody else, under that thread's hands.
    """

    def __init__(self, disk: Disk, drafts: Folder) -> None:
        self._disk = disk
        self._drafts = drafts
        self._lock = threading.Lock()
        self.name = ids.new()
        self.size_bytes = 0
        self._file: int | None = disk.create(drafts, self.name)

    def append(self, content: bytes | memoryview) -> None:
        with self._lock:
            self._disk.write(self._open_file(), content)
            self.size_bytes += len(content)

    def sync(self) -> None:
        """Bring the content to the disk; nothing can be appended after that."""
        with self._lock:
            file = self._open_file()
            self._disk.sync(file)
            os.close(file)
            self._file = None

    def place(self, folder: Folder, name: str) -> None:
        """Give it the name under which it counts."""
        self._disk.rename(self._drafts, folder, (self.name, name))
        self.name = ""

    def discard(self) -> None:
        """Take it away again, unless it was placed. What this cannot remove is swept at open."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None
            if self.name:
                with suppress(OSError):
                    self._disk.unlink(self._drafts, self.name)
                self.name = ""

    def _open_file(self) -> int:
        if self._file is None:
            raise OSError(errno.ECANCELED, "the writer has given up")
        return self._file


class Settling:
    """Which folders hold names that a power cut could still take back.

    A put that finds its content there must not answer before that name is on disk, although it was
    another put that wrote it and is still waiting for the disk.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._lock = threading.Lock()
        self._changes: dict[Path, int] = {}
        self._settled: dict[Path, int] = {}

    def place(self, draft: Draft, folder: Folder, name: str) -> None:
        # Whoever sees the new name and then takes the lock also sees that the folder has changed.
        with self._lock:
            draft.place(folder, name)
            self._changes[folder.path] = self._changes.get(folder.path, 0) + 1

    def unlink(self, folder: Folder, name: str) -> None:
        """Take a name away; that it was not there is as good, but may not be on disk either."""
        with self._lock:
            with suppress(FileNotFoundError):
                self._disk.unlink(folder, name)
            self._changes[folder.path] = self._changes.get(folder.path, 0) + 1

    def settle(self, folder: Folder) -> None:
        """Return when every name that this folder has now is on disk."""
        with self._lock:
            changes = self._changes.get(folder.path, 0)
            if self._settled.get(folder.path, 0) >= changes:
                return
        self._disk.sync(folder.file)
        with self._lock:
            self._settled[folder.path] = max(changes, self._settled.get(folder.path, 0))


def open_root(path: Path, disk: Disk) -> Folder:
    """The blob folder itself, made if need be. It alone may be a link: to a larger disk, say."""
    if not path.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent = Folder(file=os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY), path=path.parent)
        try:
            with suppress(FileExistsError):
                disk.make_folder(parent, path.name)
            disk.sync(parent.file)
        finally:
            os.close(parent.file)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return Folder(file=os.open(path, flags), path=path)


def open_folder(parent: Folder, name: str) -> Folder:
    """A folder inside, never through a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | _SAFE
    return Folder(file=os.open(name, flags, dir_fd=parent.file), path=parent.path / name)


def open_file(folder: Folder, name: str) -> int:
    """A file inside, for reading. What is not a plain file is damage: somebody put it there."""
    try:
        # Without O_NONBLOCK a planted pipe would hold this thread for ever.
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _SAFE, dir_fd=folder.file)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Damaged("it is not a plain file") from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise Damaged("it is not a plain file")
    return file


def read_at(file: int, offset: int, length: int) -> bytes:
    """Exactly these bytes, or Damaged: a file that ends too early, a disk that cannot read."""
    pieces: list[bytes] = []
    while length > 0:
        try:
            piece = os.pread(file, min(length, 1 << 30), offset)
        except OSError as error:
            if error.errno == errno.EIO:
                raise Damaged("the disk cannot read it") from error
            raise
        if not piece:
            raise Damaged("it ends too early")
        pieces.append(piece)
        offset, length = offset + len(piece), length - len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def lock(root: Folder) -> int:
    """Make this process the only one in the folder, until it closes the file or dies."""
    flags = os.O_RDWR | os.O_CREAT | _SAFE
    file = os.open("lock", flags, 0o600, dir_fd=root.file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "(not known)"
        os.close(file)
        raise BlobsInUse(folder=str(root.path), holder=holder) from error
    os.ftruncate(file, 0)
    os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    return file


@contextmanager
def told(path: Path) -> Generator[None, None, None]:
    """Turn what the operating system says into what a person can act on."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "an input/output error"
        if error.errno in _FULL:
            raise BlobsFull(folder=str(path)) from error
        if error.errno in _READ_ONLY:
            raise BlobsReadOnly(folder=str(path), reason=reason) from error
        if error.errno in _MISPLACED:
            raise BlobsUnusable(folder=str(path), reason=reason) from error
        raise BlobsFailed(folder=str(path), reason=reason) from error
