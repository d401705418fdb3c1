"""Disks that a blob folder can be put on in tests: full, counting, waiting at a gate, forgetful.

Each is the real disk with one thing added, so the files are real files. `ForgetfulDisk` is a disk
with a power switch: what was not synced when the power went may or may not be there afterwards.
"""

import errno
import os
import random
import shutil
import stat
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from coven.store.blobs.disk import Disk, Folder


class FailingDisk(Disk):
    """Refuses every change with one error while `error` is set; a full disk after some bytes."""

    def __init__(self) -> None:
        self.error: int | None = None
        self.bytes_left: int | None = None

    def create(self, folder: Folder, name: str) -> int:
        self._refuse(folder.path)
        return super().create(folder, name)

    def write(self, file: int, content: bytes | memoryview) -> None:
        if self.bytes_left is not None:
            self.bytes_left -= len(content)
            if self.bytes_left < 0:
                super().write(file, content[: len(content) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(file, content)

    def rename(self, source: Folder, target: Folder, names: tuple[str, str]) -> None:
        self._refuse(target.path)
        super().rename(source, target, names)

    def _refuse(self, path: Path) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error), str(path))


class CountingDisk(Disk):
    """Counts how often what was brought to the disk."""

    def __init__(self) -> None:
        self.synced: Counter[str] = Counter()

    def sync(self, file: int) -> None:
        super().sync(file)
        self.synced["folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file"] += 1


class GatedDisk(Disk):
    """Stops at one kind of call until the gate is opened, so that a test can look around."""

    def __init__(self) -> None:
        self.stop_at: str | None = None
        self.reached = threading.Event()
        self.gate = threading.Event()
        self.passed: list[str] = []

    def unlink(self, folder: Folder, name: str) -> None:
        self._pass("unlink", folder.path.parent.name)
        super().unlink(folder, name)

    def sync(self, file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        self._pass("sync", path.parent.name)
        super().sync(file)

    def _pass(self, call: str, where: str) -> None:
        self.passed.append(f"{call} {where}")
        if self.stop_at == f"{call} {where}":
            self.stop_at = None
            self.reached.set()
            assert self.gate.wait(5), "nobody opened the gate"


class PowerCut(OSError):
    """There is no power any more."""


class ForgetfulDisk(Disk):
    """Goes dark at the n-th call. `cut` then takes back what no sync had made durable.

    What is taken back is chosen by `random.Random(seed)`, or is everything when `seed` is None: a
    file system may write names and bytes down earlier than it has to, and in any order.
    """

    def __init__(self, graveyard: Path, *, calls: int, seed: int | None = None) -> None:
        self.calls_left = calls
        self._graveyard = graveyard
        self._chance = random.Random(seed) if seed is not None else None
        self._lock = threading.Lock()
        self._undo: dict[int, list[Callable[[], None]]] = {}
        self._unsynced: dict[int, Path] = {}
        graveyard.mkdir()

    def create(self, folder: Folder, name: str) -> int:
        self._spend()
        file = super().create(folder, name)
        self._unsynced[os.fstat(file).st_ino] = folder.path / name
        return file

    def write(self, file: int, content: bytes | memoryview) -> None:
        self._spend()
        super().write(file, content)

    def sync(self, file: int) -> None:
        self._spend()
        with self._lock:
            number = os.fstat(file).st_ino
            self._undo.pop(number, None)
            self._unsynced.pop(number, None)

    def make_folder(self, folder: Folder, name: str) -> None:
        self._spend()
        super().make_folder(folder, name)
        self._remember(folder, lambda: shutil.rmtree(folder.path / name, ignore_errors=True))

    def rename(self, source: Folder, target: Folder, names: tuple[str, str]) -> None:
        self._spend()
        path = target.path / names[1]
        restore = self._bury(path)
        super().rename(source, target, names)
        number = path.stat().st_ino
        if number in self._unsynced:
            self._unsynced[number] = path
        self._remember(target, lambda: (path.unlink(missing_ok=True), restore()))

    def unlink(self, folder: Folder, name: str) -> None:
        self._spend()
        restore = self._bury(folder.path / name)
        super().unlink(folder, name)
        self._remember(folder, restore)

    def forget_names_of(self, path: Path) -> None:
        """Treat the names that a folder has now as if nothing had synced them yet."""
        names = list(path.iterdir())
        self._undo[path.stat().st_ino] = [lambda name=name: name.unlink() for name in names]

    def cut(self) -> None:
        """The power went; this is what is found when it comes back."""
        for path in self._unsynced.values():
            if path.exists() and self._lost():
                path.chmod(0o600)
                os.truncate(path, path.stat().st_size // 2)
        for changes in self._undo.values():
            # The names of one folder come back in their order: the last ones are lost first.
            kept = self._chance.randint(0, len(changes)) if self._chance else 0
            for undo in reversed(changes[kept:]):
                undo()

    def _lost(self) -> bool:
        return self._chance is None or self._chance.random() < 0.5

    def _spend(self) -> None:
        with self._lock:
            self.calls_left -= 1
            if self.calls_left < 0:
                raise PowerCut(errno.EIO, "no power")

    def _bury(self, path: Path) -> Callable[[], None]:
        if not path.is_file():
            return lambda: None
        grave = self._graveyard / f"{len(list(self._graveyard.iterdir()))}"
        os.link(path, grave)

        def restore() -> None:
            if path.parent.is_dir() and not path.exists():
                os.link(grave, path)

        return restore

    def _remember(self, folder: Folder, undo: Callable[[], object]) -> None:
        with self._lock:
            number = os.fstat(folder.file).st_ino
            self._undo.setdefault(number, []).append(lambda: undo() and None)
