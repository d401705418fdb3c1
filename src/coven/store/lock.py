"""The lock that lets one daemon at a time have a directory.

It is taken before the database is opened and held for life. The kernel keeps it, not a file's
existence: when its holder ends in any way, `kill -9` included, it is free, and a lock file that is
left over means nothing. What stands in the file only tells others who holds it.

Two locks are taken. One is on the lock file itself, of the open file description (OFD): unlike the
older kind it is not lost when some other code of this process opens and closes the same file, it
can be asked about without being taken, and network file systems carry it. The other is on the
directory, so that a person who removes a "stale" lock file does not let a second daemon in; where a
file system cannot do that, the first alone must do.

Deliberately not here: locks inside the database. SQLite has its own, and `DatabaseLocked` is also
what the engine raises when a foreign program holds one of those.
"""

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import struct
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from coven.core import clock as instants
from coven.core import failpoints
from coven.core.clock import Clock
from coven.core.errors import CovenError, Kind

OPENED = failpoints.declare("store.lock.opened", "the lock file is open, not locked yet")
TAKEN = failpoints.declare("store.lock.taken", "the lock is held, its file does not say by whom")

_HOLDER_BYTES_MAX = 4096
_ATTEMPTS_MAX = 100
# `struct flock` on 64-bit Linux: type, whence, start, length, pid; the whole file.
_FLOCK = struct.Struct("hhqqi4x")
_WRITE_LOCK = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class DatabaseLocked(CovenError):
    """Database locked by another process."""

    code = "DATABASE_LOCKED"
    kind = Kind.CONFLICT
    remedy = (
        "Use the daemon that is running (`coven status`), end it with `coven stop`, or work in "
        "another directory. The lock goes when its holder ends; removing its file does not help."
    )


class LockUnusable(CovenError):
    """The lock file {path} cannot be used: {reason}."""

    code = "LOCK_UNUSABLE"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Make its directory writable for your user, and move away whatever is in the place of the "
        "lock file. `coven doctor` looks at both."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a lock, as far as it can be found out."""

    pid: int | None = None
    host: str | None = None
    started_at: str | None = None


class Lock:
    """A lock that is held, until `release` or the end of the process."""

    def __init__(self, path: Path, *, file: int, directory: int | None, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        self._descriptors = [file] if directory is None else [file, directory]
        _held.add(self)

    def release(self) -> None:
        """Give the lock back; calling it again does nothing."""
        descriptors, self._descriptors = self._descriptors, []
        if not descriptors:
            return
        with contextlib.suppress(OSError):
            os.ftruncate(descriptors[0], 0)
        for descriptor in descriptors:
            # Unlocked by name, not only closed: a child between fork and exec has it open as well.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                unlock = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
                fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, unlock)
        for descriptor in descriptors:
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _leave_to_parent(self) -> None:
        """In a forked child: the lock belongs to the parent and must not outlive it here."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock._leave_to_parent()  # pyright: ignore[reportPrivateUsage] - the same file, and no caller's business


# Programs that are started lose the descriptors by O_CLOEXEC; a fork without exec needs this.
os.register_at_fork(after_in_child=_after_fork)


def take(path: Path, *, clock: Clock, with_directory: bool = True) -> Lock:
    """Take the lock at once, or say who has it. Its directory must exist.

    A directory that is not the daemon's own, and may hold other locks, is left unlocked.
    """
    try:
        directory = _lock_directory(path) if with_directory else None
        try:
            file = _lock_file(path)
        except BaseException:
            if directory is not None:
                os.close(directory)
            raise
    except BlockingIOError as error:
        raise _locked_by(holder(path)) from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown"
        raise LockUnusable(path=str(path), reason=reason) from error
    us = Holder(pid=os.getpid(), host=socket.gethostname(), started_at=instants.render(clock.now()))
    lock = Lock(path, file=file, directory=directory, holder=us)
    try:
        failpoints.hit(TAKEN)
        _introduce(file, us)
    except BaseException:
        lock.release()
        raise
    return lock


def holder(path: Path) -> Holder | None:
    """Who holds the lock now; None when nobody does. Looks only, and disturbs nobody."""
    told = _read_holder(path)
    pid = _kernel_pid(path.parent, kinds=("FLOCK",))
    if pid is not None:
        # The kernel knows better than a file that was perhaps not yet written.
        return told if told.pid == pid else Holder(pid=pid, host=socket.gethostname())
    return told if _is_locked(path) else None


def foreign_writer(database: Path) -> DatabaseLocked:
    """The error for a foreign program that keeps the database file locked, with its pid if known.

    Looks at the kernel's list of locks and never opens the file: closing it would drop SQLite's own
    locks.
    """
    kinds = ("POSIX", "OFDLCK")
    # In WAL mode writers lock bytes of the -shm file; in the other modes the database itself.
    for path in (database.with_name(database.name + "-shm"), database):
        pid = _kernel_pid(path, kinds=kinds, besides=os.getpid())
        if pid is not None:
            return _locked_by(Holder(pid=pid, host=socket.gethostname()), of="a write lock on it")
    return DatabaseLocked(
        detail=f"Another program holds a write lock on {database.name}.",
        pid=None,
        host=None,
        started_at=None,
    )


def _locked_by(holder: Holder | None, *, of: str = "it") -> DatabaseLocked:
    known = holder or Holder()
    if known.pid is None:
        detail = f"Which process holds {of} is not known."
    else:
        host = f" on {known.host}" if known.host else ""
        since = f" since {known.started_at}" if known.started_at else ""
        detail = f"Process {known.pid}{host} holds {of}{since}."
    return DatabaseLocked(
        detail=detail, pid=known.pid, host=known.host, started_at=known.started_at
    )


def _lock_directory(path: Path) -> int | None:
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
            raise
        return None  # such as NFS, which locks only what is open for writing
    return descriptor


def _lock_file(path: Path) -> int:
    for _ in range(_ATTEMPTS_MAX):
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            failpoints.hit(OPENED)
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _WRITE_LOCK)
            if _is_still_at(path, descriptor):
                return descriptor
        except PermissionError as error:
            os.close(descriptor)
            # POSIX lets a kernel say EACCES where ours says EAGAIN: somebody else has the lock.
            raise BlockingIOError(error.errno, os.strerror(errno.EAGAIN)) from error
        except BaseException:
            os.close(descriptor)
            raise
        # Between opening and locking, somebody removed the file or put another one in its place:
        # what is locked now is not what the next daemon will look at.
        os.close(descriptor)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _is_still_at(path: Path, descriptor: int) -> bool:
    ours = os.fstat(descriptor)
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


def _introduce(file: int, us: Holder) -> None:
    text = json.dumps({"pid": us.pid, "host": us.host, "started_at": us.started_at}) + "\n"
    # Best effort: a full disk must not keep a daemon from starting because of a courtesy.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, text.encode(), 0)


def _read_holder(path: Path) -> Holder:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            body: Any = json.loads(file.read(_HOLDER_BYTES_MAX))
    except (OSError, ValueError):
        return Holder()
    if not isinstance(body, dict):
        return Holder()
    told = cast("dict[str, Any]", body)
    pid, host, started_at = (told.get(name) for name in ("pid", "host", "started_at"))
    return Holder(
        pid=pid if isinstance(pid, int) else None,
        host=host[:255] if isinstance(host, str) else None,
        started_at=started_at[:64] if isinstance(started_at, str) else None,
    )


def _is_locked(path: Path) -> bool:
    """Ask whether the lock could be had, without having it for an instant."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _WRITE_LOCK)
        return _FLOCK.unpack(answer)[0] != fcntl.F_UNLCK
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _kernel_pid(path: Path, *, kinds: tuple[str, ...], besides: int = 0) -> int | None:
    """The process that the kernel's list of locks names for a file; None when it names nobody."""
    try:
        wanted = os.stat(path)
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 7251 fe:00:2165058 0 EOF; a waiter's line has "->" after "1:".
        fields = line.split()
        if len(fields) != 8 or fields[1] not in kinds or fields[3] != "WRITE":
            continue
        pid, (major, minor, inode) = int(fields[4]), fields[5].split(":")
        place = os.makedev(int(major, 16), int(minor, 16)), int(inode)
        if place == (wanted.st_dev, wanted.st_ino) and pid > 0 and pid != besides:
            return pid
    return None
