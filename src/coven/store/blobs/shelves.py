"""Shelves: which files of a blob folder count, and every change to them. Blocking; runs in threads.

    format          says which layout this is
    lock            one process at a time; the kernel lets go of it when the process dies
    drafts/         files that are being written; emptied when the folder is opened
    loose/ab/ab…    a blob of its own, in the folder of its first two digits
    packs/….pack    many small blobs

A file counts from the moment it is renamed out of `drafts`, which happens after its content is on
disk; a put is acknowledged when the folder that holds the new name is on disk too. So a crash
leaves at most drafts (swept at open), a blob that nobody was promised (collected later), or a blob
twice (the same blob). `coven.store.blobs.holds` says why deletion is safe.

Order matters in two places. A reader looks among the loose files first and in the packs second, and
`compact` lets a pack count before it takes the loose files away: so a blob on the move is never
overlooked. Deleting and compacting exclude each other, so nothing moves to where it was just
deleted. Gathering and rewriting packs is in `compaction`.
"""

import os
import re
import stat
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from coven.core import failpoints
from coven.store.blobs import packs as packing
from coven.store.blobs.disk import (
    Disk,
    Draft,
    Folder,
    Settling,
    lock,
    open_file,
    open_folder,
    open_root,
)
from coven.store.blobs.holds import Holds
from coven.store.blobs.loose import LooseDraft, LooseReader
from coven.store.blobs.model import BlobsUnusable, Damaged, Digest, Limits, Sentence
from coven.store.blobs.packs import Pack, PackDraft, PackedReader

_LAYOUT = b"coven blobs 1\n"
_OURS = {"format", "lock", "drafts", "loose", "packs"}
_SHELF = re.compile(r"[0-9a-f]{2}", re.ASCII)
_LOOSE = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DRAFT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PACK = re.compile(_DRAFT.pattern + r"\.pack", re.ASCII)

_MADE = failpoints.declare("blobs.open.made", "the folders are there, the layout is not yet named")
_SWEPT = failpoints.declare("blobs.open.swept", "a draft of an earlier life has been removed")
_WRITTEN = failpoints.declare("blobs.put.written", "drafts are complete, but not synced")
_SYNCED = failpoints.declare("blobs.put.synced", "drafts are on disk, but have no name that counts")
_RENAMED = failpoints.declare("blobs.put.renamed", "a draft counts, its folder is not synced")
_SETTLED = failpoints.declare("blobs.put.settled", "all is on disk, nobody has been told")
_DOOMED = failpoints.declare("blobs.delete.begun", "what to delete is settled, all is still there")
_UNLINKED = failpoints.declare("blobs.delete.unlinked", "a loose blob is gone, perhaps not on disk")
_REPLACED = failpoints.declare("blobs.pack.replaced", "a pack counts, those it replaces still do")
_DROPPED = failpoints.declare("blobs.pack.dropped", "a pack that was replaced has been removed")
_DELETED = failpoints.declare("blobs.delete.settled", "all is gone, nobody has been told")

Reader = LooseReader | PackedReader


class Shelves:
    """An open blob folder."""

    def __init__(self, path: Path, disk: Disk, limits: Limits) -> None:
        self.path = path
        self.disk = disk
        self.limits = limits
        self.holds = Holds()
        self.settling = Settling(disk)
        self.unreadable: dict[str, str] = {}
        """Packs whose index cannot be believed, and why. They are left where they are."""
        self.moving = threading.Lock()
        """Held by whoever takes files away: a deletion, a compaction, a repair."""
        self._swapping = threading.Lock()
        self._packs: tuple[Pack, ...] = ()
        self._made: set[str] = set()
        with ExitStack() as stack:
            self._open(stack)
            self._opened = stack.pop_all()

    @property
    def packs(self) -> tuple[Pack, ...]:
        """The packs that count now."""
        return self._packs

    def close(self) -> None:
        """Let go of the folder. The lock goes last, so that nobody comes in too early."""
        self._opened.close()

    # -- reading

    def readers(self, digest: Digest) -> Iterator[Reader | Damaged]:
        """Every copy of a blob, opened when asked for, or what is wrong with it."""
        reader = self._open_loose(digest)
        if reader is not None:
            yield reader
        while True:
            packs = self._packs
            for pack in packs:
                place = pack.find(digest)
                if place is None:
                    continue
                packed = self._open_packed(pack, digest, place)
                if packed is not None:
                    yield packed
            if self._packs is packs:
                return

    def has(self, digest: Digest) -> bool:
        """Whether a copy is here, sound or not."""
        try:
            with self.shelf(digest[:2]) as shelf:
                os.stat(digest, dir_fd=shelf.file, follow_symlinks=False)
        except FileNotFoundError:
            return any(pack.find(digest) is not None for pack in self._packs)
        return True

    def digests(self, shelf: str) -> list[Digest]:
        """What is here, loose or packed, under the first two digits of its digest."""
        # Loose files first: what moves into a pack meanwhile is then found there.
        found = set(self.loose(shelf))
        for pack in self._packs:
            found.update(pack.digests(shelf))
        return sorted(found)

    def loose(self, shelf: str) -> list[Digest]:
        """What has a file of its own there."""
        try:
            with self.shelf(shelf) as folder:
                return [Digest(name) for name in os.listdir(folder.file) if _LOOSE.fullmatch(name)]
        except FileNotFoundError:
            return []

    def strangers(self) -> Iterator[tuple[str, str]]:
        """What is in the folder and is not ours: where it is, and what is wrong with it."""
        yield from ((name, "not ours") for name in os.listdir(self.root.file) if name not in _OURS)
        for name in os.listdir(self.loose_folder.file):
            if not _SHELF.fullmatch(name):
                yield f"loose/{name}", "not ours"
                continue
            try:
                with self.shelf(name) as shelf:
                    names = os.listdir(shelf.file)
            except NotADirectoryError:
                yield f"loose/{name}", "not a folder of ours"
                continue
            wrong = (n for n in names if not _LOOSE.fullmatch(n) or not n.startswith(name))
            yield from ((f"loose/{name}/{n}", "not ours") for n in wrong)
        names = os.listdir(self.packs_folder.file)
        yield from ((f"packs/{n}", "not ours") for n in names if not _PACK.fullmatch(n))
        yield from ((f"packs/{name}", reason) for name, reason in self.unreadable.items())

    # -- storing

    def settle_shelf(self, digest: Digest) -> None:
        """Make sure that a copy which was found there cannot be taken back by a power cut."""
        # A pack counts only once it is on disk, so this is about loose files.
        with suppress(FileNotFoundError), self.shelf(digest[:2]) as shelf:
            self.settling.settle(shelf)

    def publish(
        self,
        loose: Sequence[tuple[LooseDraft, Digest]] = (),
        packs: Sequence[PackDraft] = (),
        *,
        replaces: Collection[Pack] = (),
    ) -> None:
        """The durability barrier: return when all of these are on disk, and count."""
        finished = [pack.finish() for pack in packs]
        failpoints.hit(_WRITTEN)
        for draft in (*loose_drafts(loose), *(pack.draft for pack in packs)):
            draft.sync()
        failpoints.hit(_SYNCED)
        with ExitStack() as stack:
            touched: dict[str, Folder] = {}
            for draft, digest in loose:
                prefix = digest[:2]
                if prefix not in touched:
                    touched[prefix] = stack.enter_context(self.shelf(prefix, make=True))
                self.settling.place(draft.draft, touched[prefix], digest)
                failpoints.hit(_RENAMED)
            for draft, pack in zip(packs, finished, strict=True):
                touched["packs"] = self.packs_folder
                self.settling.place(draft.draft, self.packs_folder, pack.name)
                failpoints.hit(_RENAMED)
            for folder in touched.values():
                self.settling.settle(folder)
        self._swap(finished, replaces)
        failpoints.hit(_SETTLED)

    # -- taking away

    def delete(self, sentence: Sentence, keep: Collection[Digest]) -> frozenset[Digest]:
        """Delete what is still condemned; every copy of it."""
        with self.moving:
            doomed = self.holds.begin_deleting(sentence, keep)
            try:
                failpoints.hit(_DOOMED)
                self.remove_loose(doomed)
                unwanted = {
                    pack: {digest for digest in doomed if pack.find(digest) is not None}
                    for pack in self._packs
                }
                self.drop({pack: digests for pack, digests in unwanted.items() if digests})
                failpoints.hit(_DELETED)
            finally:
                self.holds.end_deleting(doomed)
        return doomed

    def remove_loose(self, digests: Collection[Digest]) -> None:
        """Take loose copies away, durably. The caller holds `moving`."""
        by_shelf: dict[str, list[Digest]] = {}
        for digest in digests:
            by_shelf.setdefault(digest[:2], []).append(digest)
        for prefix, names in by_shelf.items():
            with suppress(FileNotFoundError), self.shelf(prefix) as shelf:
                for name in names:
                    self.settling.unlink(shelf, name)
                    failpoints.hit(_UNLINKED)
                self.settling.settle(shelf)

    def drop(self, unwanted: Mapping[Pack, Collection[Digest]]) -> None:
        """Write each pack anew without some of its blobs. The caller holds `moving`."""
        # Packs that can go whole go first: on a full disk they make the room that rewriting needs.
        for pack in sorted(unwanted, key=lambda pack: len(pack) - len(unwanted[pack])):
            if pack not in self._packs:
                continue  # it was replaced before we got here, and so was the unwanted copy
            survivors = [digest for digest in pack.digests() if digest not in unwanted[pack]]
            drafts: list[PackDraft] = []
            try:
                if survivors:
                    drafts.append(PackDraft(self.disk, self.drafts_folder))
                for digest in survivors:
                    place = pack.find(digest)
                    assert place is not None
                    # Unchecked on purpose: damage is told by `verify`, not thrown away here.
                    drafts[0].add(digest, packing.read(self.packs_folder, pack, place))
                self.replace([pack], drafts)
            finally:
                discard(draft.draft for draft in drafts)

    def replace(self, old: Collection[Pack], new: Sequence[PackDraft]) -> None:
        """Let new packs count instead of old ones, and take the old files away."""
        if new:
            self.publish(packs=new, replaces=old)
        else:
            self._swap((), old)
        failpoints.hit(_REPLACED)
        for pack in old:
            self.settling.unlink(self.packs_folder, pack.name)
            failpoints.hit(_DROPPED)
        self.settling.settle(self.packs_folder)

    @contextmanager
    def shelf(self, prefix: str, *, make: bool = False) -> Generator[Folder, None, None]:
        """The open folder of the loose blobs whose digests begin like this."""
        if make and prefix not in self._made:
            with suppress(FileExistsError):
                self.disk.make_folder(self.loose_folder, prefix)
            # Also when another thread made it a moment ago and is still waiting for the disk.
            self.disk.sync(self.loose_folder.file)
            self._made.add(prefix)
        folder = open_folder(self.loose_folder, prefix)
        try:
            yield folder
        finally:
            os.close(folder.file)

    def _open_loose(self, digest: Digest) -> Reader | Damaged | None:
        try:
            with self.shelf(digest[:2]) as shelf:
                return LooseReader(shelf, digest)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            return Damaged(f"loose/{digest[:2]} is not a folder of ours")
        except Damaged as damage:
            return damage

    def _open_packed(
        self, pack: Pack, digest: Digest, place: tuple[int, int]
    ) -> Reader | Damaged | None:
        try:
            return PackedReader(packing.read(self.packs_folder, pack, place), digest)
        except FileNotFoundError:
            # Replaced while we looked, and then `readers` looks again; or taken away by a stranger.
            return Damaged(f"{pack.name} is gone") if pack in self._packs else None
        except Damaged as damage:
            return damage

    def _swap(self, new: Collection[Pack], old: Collection[Pack]) -> None:
        with self._swapping:
            self._packs = (*(pack for pack in self._packs if pack not in old), *new)

    # -- opening

    def _open(self, stack: ExitStack) -> None:
        self.root = open_root(self.path, self.disk)
        stack.callback(os.close, self.root.file)
        names = set(os.listdir(self.root.file))
        if "format" not in names and not names <= _OURS:
            stranger = min(names - _OURS)
            raise BlobsUnusable(folder=str(self.path), reason=f"{stranger!r} in it is not ours")
        stack.callback(os.close, lock(self.root))
        if "format" in names:
            self._check_layout()
        self.drafts_folder = self._make(stack, "drafts")
        self.loose_folder = self._make(stack, "loose")
        self.packs_folder = self._make(stack, "packs")
        failpoints.hit(_MADE)
        self._sweep()
        if "format" not in names:
            self._name_layout()
        self._load()
        # What an earlier life renamed and did not sync is taken as it is found, so sync it now.
        for folder in (self.root, self.loose_folder, self.packs_folder):
            self.disk.sync(folder.file)

    def _make(self, stack: ExitStack, name: str) -> Folder:
        with suppress(FileExistsError):
            self.disk.make_folder(self.root, name)
        folder = open_folder(self.root, name)
        stack.callback(os.close, folder.file)
        return folder

    def _check_layout(self) -> None:
        try:
            file = open_file(self.root, "format")
        except Damaged as damage:
            raise BlobsUnusable(
                folder=str(self.path), reason="its format is not a file"
            ) from damage
        try:
            layout = os.read(file, 200)
        finally:
            os.close(file)
        if layout != _LAYOUT:
            told = layout.decode("utf-8", "replace").strip()
            raise BlobsUnusable(folder=str(self.path), reason=f"its format is {told!r}, not ours")

    def _name_layout(self) -> None:
        draft = Draft(self.disk, self.drafts_folder)
        try:
            draft.append(_LAYOUT)
            draft.sync()
            draft.place(self.root, "format")
        finally:
            draft.discard()

    def _sweep(self) -> None:
        for name in os.listdir(self.drafts_folder.file):
            if _DRAFT.fullmatch(name):
                with suppress(IsADirectoryError):
                    self.disk.unlink(self.drafts_folder, name)
                failpoints.hit(_SWEPT)

    def _load(self) -> None:
        for name in os.listdir(self.loose_folder.file):
            entry = os.stat(name, dir_fd=self.loose_folder.file, follow_symlinks=False)
            if _SHELF.fullmatch(name) and stat.S_ISDIR(entry.st_mode):
                with self.shelf(name) as shelf:
                    self.disk.sync(shelf.file)
                self._made.add(name)
        found: list[Pack] = []
        for name in sorted(filter(_PACK.fullmatch, os.listdir(self.packs_folder.file))):
            try:
                found.append(packing.load(self.packs_folder, name))
            except Damaged as damage:
                self.unreadable[name] = damage.reason
        self._packs = tuple(found)


def loose_drafts(loose: Sequence[tuple[LooseDraft, Digest]]) -> Iterator[Draft]:
    """The files of loose drafts."""
    return (draft.draft for draft, _ in loose)


def discard(drafts: Iterator[Draft]) -> None:
    """Take away whatever was not placed."""
    for draft in drafts:
        draft.discard()
