"""Small files of `.coven` that are whole at every instant.

They are written beside their place and then renamed, so a reader, and a daemon that starts after a
crash, sees the old content or the new one and never half of either. Deliberately not here: the
database, the log and the blobs, which have their own ways.
"""

import contextlib
import os
import secrets
from pathlib import Path

from coven.core import failpoints
from coven.core.errors import CovenError, Kind

WRITTEN = failpoints.declare("daemon.file.written", "a new file is on disk, not yet in its place")
RENAMED = failpoints.declare("daemon.file.renamed", "it is in its place, its directory not synced")


class StateDirectoryUnusable(CovenError):
    """The directory {path} cannot be used: {reason}."""

    code = "STATE_DIRECTORY_UNUSABLE"
    kind = Kind.UNAVAILABLE
    remedy = (
        "It must be a directory that your user may write to. Correct its owner or mode, move away "
        "what is in its place, or name another project with COVEN_DIR."
    )


def make_state_directory(path: Path) -> None:
    """Make `.coven`, for its owner only, or make sure that it is a directory."""
    try:
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if not path.is_dir():
                raise
        else:
            sync_directory(path.parent)
    except OSError as error:
        raise StateDirectoryUnusable(path=str(path), reason=reason_of(error)) from error


def write(path: Path, content: bytes, *, mode: int, owner: tuple[int, int] | None = None) -> None:
    """Put a whole file in its place, on disk before this returns."""
    _sweep(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
    try:
        _write_new(beside, content, mode=mode, owner=owner)
        failpoints.hit(WRITTEN)
        os.rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    failpoints.hit(RENAMED)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make what was created, renamed or removed in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason_of(error: OSError) -> str:
    """What the system said, without the path and the number."""
    return os.strerror(error.errno) if error.errno else str(error)


def _write_new(path: Path, content: bytes, *, mode: int, owner: tuple[int, int] | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        if owner is not None and owner != (os.geteuid(), os.getegid()):
            # A daemon that root started must not take the file away from its owner.
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _sweep(path: Path) -> None:
    """Remove what a writer left that was killed in the middle."""
    for left in path.parent.glob(f".{path.name}.*-*.new"):
        pid = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if pid.isascii() and pid.isdigit() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                left.unlink()
