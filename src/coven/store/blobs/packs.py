"""Packs: many small blobs in one file, with an index at its end.

    magic | contents, one after the other | index: (digest, offset, length), ascending | footer

The index is read once, when the folder is opened, and stays in memory: 48 bytes for each blob. A
blob in a pack is small and is read whole, so its digest checks every read. A pack never changes.
Deleting from it, or gathering several, means writing a new one and then taking the old one away; in
between, a blob may be in both, which does no harm because it is the same blob.
"""

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from blake3 import blake3

from coven.store.blobs.disk import Disk, Draft, Folder, open_file, read_at
from coven.store.blobs.model import Damaged, Digest

SUFFIX = ".pack"
_MAGIC = b"CVNPACK1"
_ENTRY = struct.Struct(">32sQQ")
_FOOTER = struct.Struct(">QQ32s8s")
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pack:
    """A pack that counts: its name and its index."""

    name: str
    size_bytes: int
    index: bytes

    def __len__(self) -> int:
        return len(self.index) // _ENTRY.size

    def find(self, digest: Digest) -> tuple[int, int] | None:
        """Where in the file the blob is (offset, length), if it is."""
        raw = bytes.fromhex(digest)
        place = bisect_left(range(len(self)), raw, key=self._key)
        if place == len(self) or self._key(place) != raw:
            return None
        _, offset, length = _ENTRY.unpack_from(self.index, place * _ENTRY.size)
        return offset, length

    def digests(self, prefix: str = "") -> Iterator[Digest]:
        """What is in it, ascending; only what begins with `prefix` (whole bytes)."""
        wanted = bytes.fromhex(prefix)
        for place in range(bisect_left(range(len(self)), wanted, key=self._key), len(self)):
            raw = self._key(place)
            if not raw.startswith(wanted):
                return
            yield Digest(raw.hex())

    def _key(self, place: int) -> bytes:
        start = place * _ENTRY.size
        return self.index[start : start + _KEY_BYTES]


class PackDraft:
    """A pack on its way in."""

    def __init__(self, disk: Disk, drafts: Folder) -> None:
        self.draft = Draft(disk, drafts)
        self._entries: list[bytes] = []
        try:
            self.draft.append(_MAGIC)
        except BaseException:
            self.draft.discard()
            raise

    @property
    def size_bytes(self) -> int:
        """What it will be when it is finished, nearly: contents and index."""
        return self.draft.size_bytes + len(self._entries) * _ENTRY.size

    def add(self, digest: Digest, content: bytes) -> None:
        """Append one blob. The caller answers for the digest."""
        offset = self.draft.size_bytes
        self.draft.append(content)
        self._entries.append(_ENTRY.pack(bytes.fromhex(digest), offset, len(content)))

    def finish(self) -> Pack:
        """Append the index; the pack counts once its file is placed under this name."""
        index = b"".join(sorted(self._entries))
        start = self.draft.size_bytes
        seal = _seal(len(self._entries), start, index)
        self.draft.append(index + _FOOTER.pack(len(self._entries), start, seal, _MAGIC))
        return Pack(name=self.draft.name + SUFFIX, size_bytes=self.draft.size_bytes, index=index)


class PackedReader:
    """One small blob out of a pack, in memory."""

    def __init__(self, content: bytes, digest: Digest) -> None:
        self._content = content
        self._digest = digest
        self.length = len(content)

    def read(self, offset: int, length: int) -> bytes:
        return self.whole()[offset : offset + length]

    def whole(self) -> bytes:
        self.check()
        return self._content

    def check(self) -> None:
        if blake3(self._content).hexdigest() != self._digest:
            raise Damaged("its bytes are not what was stored")

    def close(self) -> None:
        """Nothing is open."""


def load(folder: Folder, name: str) -> Pack:
    """A pack that is on disk; Damaged where its index cannot be believed."""
    file = open_file(folder, name)
    try:
        total = os.fstat(file).st_size
        if total < len(_MAGIC) + _FOOTER.size:
            raise Damaged("it ends too early")
        count, start, seal, magic = _FOOTER.unpack(
            read_at(file, total - _FOOTER.size, _FOOTER.size)
        )
        if magic != _MAGIC or start + count * _ENTRY.size + _FOOTER.size != total:
            raise Damaged("its footer is not ours")
        index = read_at(file, start, count * _ENTRY.size)
        if seal != _seal(count, start, index):
            raise Damaged("its index is not what was stored")
        return Pack(name=name, size_bytes=total, index=index)
    finally:
        os.close(file)


def read(folder: Folder, pack: Pack, place: tuple[int, int]) -> bytes:
    """The bytes at a place that `find` gave, not checked."""
    file = open_file(folder, pack.name)
    try:
        return read_at(file, *place)
    finally:
        os.close(file)


def _seal(count: int, start: int, index: bytes) -> bytes:
    return blake3(struct.pack(">QQ", count, start) + index).digest()
