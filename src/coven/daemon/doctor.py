"""What works on this machine, and what to install for the rest.

Each check tries the thing itself where that is quick and leaves nothing behind. The checks here are
about what the daemon cannot run without; what only some rooms need is in `powers`. Nothing is
changed, no lock is taken, and a daemon that is running is not disturbed.
"""

import fcntl
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from coven.config import Settings, redacted
from coven.core import terminal
from coven.daemon import older_layout, powers
from coven.daemon.files import reason_of
from coven.daemon.powers import Check, Status
from coven.store import lock

FREE_BYTES_NEEDED = 64 * 1024**2
FREE_BYTES_WANTED = 1024**3
_SOCKET_PATH_BYTES_MAX = 107  # `sun_path` on Linux, without its final NUL
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"}
_FICLONE = 0x40049409
_OLDEST_SQLITE = (3, 45, 0)


def run(settings: Settings, *, environment: Mapping[str, str], as_json: bool = False) -> int:
    """Look at everything and say what was found; 0 when the daemon can run here."""
    checks = examine(settings, environment=environment)
    can_run = all(check.status is not Status.FAIL for check in checks)
    if as_json:
        terminal.document({"ok": can_run, "checks": [asdict(check) for check in checks]})
    else:
        _print_table(checks, can_run=can_run)
    return 0 if can_run else 1


def examine(settings: Settings, *, environment: Mapping[str, str]) -> list[Check]:
    """Every check, in the order in which a person should read them."""
    here: list[Callable[[], Check]] = [
        _python,
        lambda: _configuration(settings),
        lambda: _state_directory(settings),
        lambda: _file_system(settings),
        lambda: _reflinks(settings),
        lambda: _free_space(settings),
        lambda: _store(settings),
        lambda: _lock(settings),
        lambda: _port(settings),
        lambda: _socket(settings),
        lambda: _older_layout(settings),
    ]
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="doctor") as threads:
        return list(threads.map(_guarded, here + powers.checks(environment)))


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that breaks is a finding like any other
        name = getattr(check, "__name__", "check").strip("_").replace("_", " ")
        return Check.warn(name, f"the check itself failed: {error}", "Please report this.")


def _python() -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    # An older one could not have read this far, so it is told by `make` and by pip.
    return Check.ok("python", found)


def _configuration(settings: Settings) -> Check:
    name = "configuration"
    if settings.problems:
        return Check.warn(name, " ".join(settings.problems), "`coven config show` has all of it.")
    there = "read" if settings.config_file.exists() else "not there yet"
    return Check.ok(name, f"{settings.config_file} {there}")


def _state_directory(settings: Settings) -> Check:
    name, place = "state directory", settings.state_directory
    if place.exists() and not place.is_dir():
        return Check.fail(name, f"{place} is not a directory", "Move away what is in its place.")
    try:
        with tempfile.TemporaryFile(dir=_nearest(place)):
            pass
    except OSError as error:
        found = f"{place} cannot be written: {reason_of(error)}"
        return Check.fail(
            name, found, "Make it writable for your user, or go to another directory."
        )
    return Check.ok(name, f"{place} is writable" if place.exists() else f"{place} can be made")


def _file_system(settings: Settings) -> Check:
    name, kind = "file system", _kind_of_file_system(_nearest(settings.state_directory))
    if kind in _NETWORK_FILE_SYSTEMS:
        remedy = "Keep the project on a local disk, or use --store postgresql://…"
        return Check.warn(name, f"{kind}, where the embedded store is not safe", remedy)
    return Check.ok(name, kind)


def _reflinks(settings: Settings) -> Check:
    name, place = "reflinks", _nearest(settings.state_directory)
    try:
        with (
            tempfile.TemporaryFile(dir=place) as source,
            tempfile.TemporaryFile(dir=place) as target,
        ):
            source.write(b"\0" * 4096)
            source.flush()
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
    except OSError:
        remedy = "Snapshots are stored as chunks. XFS or btrfs would make them cost nothing."
        return Check.warn(name, "not on this file system", remedy)
    return Check.ok(name, "tried, they work")


def _free_space(settings: Settings) -> Check:
    state = os.statvfs(_nearest(settings.state_directory))
    free = state.f_bavail * state.f_frsize
    found = f"{free / 1024**3:.1f} GB"
    remedy = "Free some space on the disk of the project."
    if free < FREE_BYTES_NEEDED:
        return Check.fail("free space", found, remedy)
    if free < FREE_BYTES_WANTED:
        return Check.warn("free space", found, remedy)
    return Check.ok("free space", found)


def _store(settings: Settings) -> Check:
    if settings.store_url.startswith("sqlite:"):
        return _sqlite()
    # Imported late: only those who use PostgreSQL pay for it.
    import psycopg

    shown = redacted(settings.store_url)
    try:
        with psycopg.connect(settings.store_url, connect_timeout=3) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        reason = redacted(str(error)).strip().splitlines()[0]
        remedy = "Check the address, the user and the password, and that the server runs."
        return Check.fail("store", f"{shown}: {reason}", remedy)
    return Check.ok("store", f"PostgreSQL {version // 10000}.{version % 10000} at {shown}")


def _sqlite() -> Check:
    import apsw

    found = f"SQLite {apsw.sqlite_lib_version()} (embedded)"
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split(".")[:3])
    if version < _OLDEST_SQLITE:
        return Check.fail("store", found, "Install a current apsw wheel: `make setup`.")
    return Check.ok("store", found)


def _lock(settings: Settings) -> Check:
    held = lock.holder(settings.lock_file)
    if held is None:
        return Check.ok("lock", "free: no daemon runs here")
    host = f" on {held.host}" if held.host else ""
    return Check.ok("lock", f"held by process {held.pid}{host}: a daemon runs here")


def _port(settings: Settings) -> Check:
    name, port = "port", settings.port
    if port == 0:
        return Check.ok(name, "0: a free one is picked at each start")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trying:
        trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trying.bind(("127.0.0.1", port))
        except OSError as error:
            if lock.holder(settings.lock_file) is not None:
                return Check.ok(name, f"{port} is in use, and a daemon runs here")
            remedy = "Choose another with --port or COVEN_PORT; 0 picks a free one."
            return Check.fail(name, f"{port}: {reason_of(error)}", remedy)
    return Check.ok(name, f"{port} is free")


def _socket(settings: Settings) -> Check:
    length = len(os.fsencode(settings.socket))
    if length > _SOCKET_PATH_BYTES_MAX:
        found = f"{settings.socket} has {length} bytes; a name has {_SOCKET_PATH_BYTES_MAX}"
        remedy = "Nothing must be done: clients use the port and the token instead."
        return Check.warn("socket", found, remedy)
    return Check.ok("socket", str(settings.socket))


def _older_layout(settings: Settings) -> Check:
    found = older_layout.find(settings.state_directory)
    if found:
        remedy = f"{older_layout.PROMPT}, or start without it: `coven up --fresh`."
        return Check.warn("older state", older_layout.render(found), remedy)
    return Check.ok("older state", "none")


def _nearest(path: Path) -> Path:
    """The directory itself, or the nearest one above that exists."""
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path


def _kind_of_file_system(path: Path) -> str:
    """Its name as the kernel's list of mounts has it, for the mount that holds the path."""
    here, best, kind = os.path.realpath(path), "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        # 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode().decode("unicode_escape")
        inside = here == point or here.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # a later mount hides an earlier one
            best, kind = point, after.split()[0]
    return kind


def _print_table(checks: list[Check], *, can_run: bool) -> None:
    # Imported late: `--json` and the daemon need no tables.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    style = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "bold red"}
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("found", overflow="fold")
    table.add_column("what to do", overflow="fold")
    for check in checks:
        status = Text(check.status.value, style=style[check.status])
        table.add_row(Text(check.name), status, Text(check.found), Text(check.remedy or ""))
    console = Console()
    console.print(table)
    console.print(
        "\nThe daemon can run here." if can_run else "\nThe daemon cannot run here yet.",
        style="bold",
    )
