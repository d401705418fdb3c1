"""Compaction: small files into packs, so that a folder of many puts stays quick to open and search.

A blob is written into its new pack, and that pack counts and is on disk, before any file it came
from is taken away. So it can be read all the while, and a crash leaves it twice at worst. Damaged
copies stay where they are, for `verify` to tell and a put to repair.
"""

import os
from collections.abc import Iterator

from coven.store.blobs import packs as packing
from coven.store.blobs.loose import file_bytes
from coven.store.blobs.model import Damaged, Digest
from coven.store.blobs.packs import Pack, PackDraft, PackedReader
from coven.store.blobs.shelves import Shelves, discard

SHELVES = [f"{number:02x}" for number in range(256)]


def compact(shelves: Shelves) -> int:
    """Gather what is small, if there is enough of it; how many blobs moved."""
    with shelves.moving:
        packs = [p for p in shelves.packs if p.size_bytes < shelves.limits.pack_bytes_max // 2]
        loose = [digest for prefix in SHELVES for digest in _small(shelves, prefix)]
        if len(packs) + len(loose) < max(2, shelves.limits.gather_files_min):
            return 0
        gathering = _Gathering(shelves)
        try:
            gathered = [pack for pack in packs if gathering.take_pack(pack)]
            moved = [digest for digest in loose if gathering.take_loose(digest)]
            shelves.replace(gathered, gathering.drafts)
            shelves.remove_loose(moved)
        finally:
            discard(draft.draft for draft in gathering.drafts)
        return len(gathering.taken)


class _Gathering:
    """The new packs, while they are filled."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self.drafts: list[PackDraft] = []
        self.taken: set[Digest] = set()

    def take_pack(self, pack: Pack) -> bool:
        """All of a pack, or nothing: a pack with damage in it stays as it is."""
        try:
            contents = dict(_contents(self._shelves, pack))
        except Damaged:
            return False
        for digest, content in contents.items():
            self._add(digest, content)
        return True

    def take_loose(self, digest: Digest) -> bool:
        for copy in self._shelves.readers(digest):
            # The loose copy comes first; only that one is to be moved.
            if isinstance(copy, Damaged):
                return False
            try:
                self._add(digest, copy.whole())
            except Damaged:
                return False
            finally:
                copy.close()
            return True
        return False

    def _add(self, digest: Digest, content: bytes) -> None:
        if digest in self.taken:
            return
        limit = self._shelves.limits.pack_bytes_max
        if not self.drafts or self.drafts[-1].size_bytes + len(content) > limit:
            self.drafts.append(PackDraft(self._shelves.disk, self._shelves.drafts_folder))
        self.drafts[-1].add(digest, content)
        self.taken.add(digest)


def _contents(shelves: Shelves, pack: Pack) -> Iterator[tuple[Digest, bytes]]:
    for digest in pack.digests():
        place = pack.find(digest)
        assert place is not None
        content = packing.read(shelves.packs_folder, pack, place)
        yield digest, PackedReader(content, digest).whole()


def _small(shelves: Shelves, prefix: str) -> list[Digest]:
    try:
        with shelves.shelf(prefix) as shelf:
            sizes = {
                digest: os.stat(digest, dir_fd=shelf.file, follow_symlinks=False).st_size
                for digest in shelves.loose(prefix)
            }
    except FileNotFoundError:
        return []
    limits = shelves.limits
    size_max = file_bytes(limits.packed_bytes_max, limits.block_bytes)
    return [digest for digest, size in sizes.items() if size <= size_max]
