"""Loose blobs: one file for each, laid out so that a part can be checked without reading the whole.

    content | digest of every block of the content | footer: magic, length, block size, seal

The seal is a hash over the blob's own digest, the length, the block size and the block digests, so
a table that belongs to another blob, or was damaged, is noticed before anything is read with its
help. A file under this name was complete and on disk before it got the name: a crash leaves none
half written.
"""

import os
import struct
import threading

from blake3 import blake3

from coven.store.blobs.disk import Disk, Draft, Folder, open_file, read_at
from coven.store.blobs.model import BlobTooLarge, Damaged, Digest, Limits

_MAGIC = b"CVNBLOB1"
_FOOTER = struct.Struct(">8sQQ32s")
_DIGEST_BYTES = 32
_BLOCK_BYTES_MAX = 1 << 30


class LooseDraft:
    """A loose blob on its way in, hashed while it is written."""

    def __init__(self, disk: Disk, drafts: Folder, limits: Limits) -> None:
        self.draft = Draft(disk, drafts)
        self._limits = limits
        self._whole = blake3()
        self._block = blake3()
        self._block_left = limits.block_bytes
        self._table: list[bytes] = []

    def write(self, content: bytes) -> None:
        """Add a piece of the content, of any size."""
        length = self.draft.size_bytes + len(content)
        if length > self._limits.blob_bytes_max:
            raise BlobTooLarge(bytes=length, bytes_max=self._limits.blob_bytes_max)
        self.draft.append(content)
        view = memoryview(content)
        while view:
            piece, view = view[: self._block_left], view[self._block_left :]
            self._hash(piece)

    def finish(self) -> Digest:
        """Add the table and the footer. Placing and syncing are the shelves' business."""
        length, block_bytes = self.draft.size_bytes, self._limits.block_bytes
        if length and self._block_left < block_bytes:
            self._end_block()
        raw = self._whole.digest()
        table = b"".join(self._table)
        seal = _seal(raw, (length, block_bytes), table)
        self.draft.append(table + _FOOTER.pack(_MAGIC, length, block_bytes, seal))
        return Digest(raw.hex())

    def _hash(self, piece: memoryview) -> None:
        self._whole.update(piece)
        if self._table:
            self._block.update(piece)
        self._block_left -= len(piece)
        if not self._block_left:
            self._end_block()

    def _end_block(self) -> None:
        # The first block is what the whole was until now, so most blobs are hashed only once.
        self._table.append(self._block.digest() if self._table else self._whole.digest())
        self._block.reset()
        self._block_left = self._limits.block_bytes


class LooseReader:
    """An open loose blob."""

    def __init__(self, folder: Folder, digest: Digest) -> None:
        self._digest = digest
        self._lock = threading.Lock()
        self._file: int | None = open_file(folder, digest)
        try:
            self.length, self._block_bytes, self._table = _read_table(self._file, digest)
        except BaseException:
            self.close()
            raise

    def read(self, offset: int, length: int) -> bytes:
        """Some of the content, every block of it checked."""
        end = min(offset + length, self.length)
        if offset >= end:
            return b""
        first = offset // self._block_bytes
        start = first * self._block_bytes
        stop = min(-(-end // self._block_bytes) * self._block_bytes, self.length)
        content = self._read(start, stop - start)
        view = memoryview(content)
        for index in range(0, len(view), self._block_bytes):
            place = (first + index // self._block_bytes) * _DIGEST_BYTES
            hashed = blake3(view[index : index + self._block_bytes]).digest()
            if hashed != self._table[place : place + _DIGEST_BYTES]:
                raise Damaged(f"the bytes from {start + index} on are not what was stored")
        if len(content) == end - offset:
            return content
        return content[offset - start : end - start]

    def whole(self) -> bytes:
        """All of the content, checked against the digest itself."""
        content = self._read(0, self.length)
        if blake3(content).hexdigest() != self._digest:
            raise Damaged("its bytes are not what was stored")
        return content

    def check(self) -> None:
        """Read it all and believe nothing: blocks, table and digest."""
        hasher = blake3()
        for offset in range(0, self.length, self._block_bytes):
            hasher.update(self.read(offset, self._block_bytes))
        if hasher.hexdigest() != self._digest:
            raise Damaged("its bytes are not what was stored")

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _read(self, offset: int, length: int) -> bytes:
        with self._lock:
            if self._file is None:
                raise Damaged("it was closed by its reader")
            return read_at(self._file, offset, length)


def file_bytes(length: int, block_bytes: int) -> int:
    """How large the file of a blob of this length is."""
    return length + -(-length // block_bytes) * _DIGEST_BYTES + _FOOTER.size


def _read_table(file: int, digest: Digest) -> tuple[int, int, bytes]:
    total = os.fstat(file).st_size
    if total < _FOOTER.size:
        raise Damaged("it ends too early")
    magic, length, block_bytes, seal = _FOOTER.unpack(
        read_at(file, total - _FOOTER.size, _FOOTER.size)
    )
    if magic != _MAGIC or not 0 < block_bytes <= _BLOCK_BYTES_MAX:
        raise Damaged("its footer is not ours")
    if file_bytes(length, block_bytes) != total:
        raise Damaged("its length is not what was stored")
    table_bytes = total - length - _FOOTER.size
    table = read_at(file, length, table_bytes) if table_bytes else b""
    if seal != _seal(bytes.fromhex(digest), (length, block_bytes), table):
        raise Damaged("its table of blocks does not belong to it")
    return length, block_bytes, table


def _seal(raw: bytes, sizes: tuple[int, int], table: bytes) -> bytes:
    return blake3(raw + struct.pack(">QQ", *sizes) + table).digest()
