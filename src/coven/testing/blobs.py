"""Blobs in memory: the contract `Blobs` without a disk.

It keeps every promise that does not need a disk: checking, holds, sentences, limits. `content` is
what would survive a restart; a test may hand it to the next `MemoryBlobs`, and may damage it.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from coven.store.blobs.contract import LIST_ROWS_MAX, Content
from coven.store.blobs.holds import Holds
from coven.store.blobs.model import (
    BlobCorrupt,
    BlobMissing,
    BlobsClosed,
    BlobTooLarge,
    Damage,
    Digest,
    Hold,
    InvalidRange,
    Limits,
    Sentence,
    digest_of,
    parse,
)


class MemoryBlobs:
    """The contract `Blobs`, kept in a dictionary."""

    def __init__(
        self, content: dict[Digest, bytes] | None = None, *, limits: Limits | None = None
    ) -> None:
        self.content: dict[Digest, bytes] = content if content is not None else {}
        self._limits = limits or Limits()
        self._holds = Holds()
        self._closed = False

    def hold(self) -> AbstractAsyncContextManager[Hold]:
        return self._holding()

    async def put(self, content: Content, *, hold: Hold) -> Digest:
        self._check_open()
        self._holds.check(hold)
        pieces: list[bytes] = []
        size = 0
        async for piece in _pieces(content):
            size += len(piece)
            if size > self._limits.blob_bytes_max:
                raise BlobTooLarge(bytes=size, bytes_max=self._limits.blob_bytes_max)
            pieces.append(piece)
        self._check_open()
        whole = b"".join(pieces)
        digest = digest_of(whole)
        self._holds.claim(digest, hold)
        self.content[digest] = whole
        return digest

    async def put_many(
        self, contents: Iterable[bytes] | AsyncIterable[bytes], *, hold: Hold
    ) -> list[Digest]:
        self._check_open()
        self._holds.check(hold)
        if isinstance(contents, AsyncIterable):
            contents = [content async for content in contents]
        # All of it is read before any of it counts, as with a barrier.
        return [await self.put(content, hold=hold) for content in list(contents)]

    async def missing(self, digests: Collection[Digest], *, hold: Hold) -> set[Digest]:
        self._check_open()
        self._holds.check(hold)
        asked = {parse(digest) for digest in digests}
        for digest in asked:
            self._holds.claim(digest, hold)
        return {digest for digest in asked if digest not in self.content}

    async def has(self, digest: Digest) -> bool:
        self._check_open()
        return parse(digest) in self.content

    async def size(self, digest: Digest) -> int:
        return len(self._find(digest))

    async def get(self, digest: Digest) -> bytes:
        content = self._sound(digest)
        if len(content) > self._limits.whole_bytes_max:
            raise BlobTooLarge(bytes=len(content), bytes_max=self._limits.whole_bytes_max)
        return content

    async def get_range(self, digest: Digest, *, offset: int, length: int) -> bytes:
        self._check_open()
        if offset < 0 or length < 0:
            raise InvalidRange(offset=offset, length=length)
        piece = self._sound(digest)[offset : offset + length]
        if len(piece) > self._limits.whole_bytes_max:
            raise BlobTooLarge(bytes=len(piece), bytes_max=self._limits.whole_bytes_max)
        return piece

    async def stream(self, digest: Digest) -> AsyncIterator[bytes]:
        content, step = self._sound(digest), self._limits.block_bytes
        for offset in range(0, len(content), step):
            self._check_open()
            yield content[offset : offset + step]

    async def list(self, *, after: Digest | None = None, limit: int = 1000) -> list[Digest]:
        self._check_open()
        start = parse(after) if after is not None else ""
        found = sorted(digest for digest in self.content if digest > start)
        return found[: max(1, min(limit, LIST_ROWS_MAX))]

    async def condemn(self, digests: Collection[Digest]) -> Sentence:
        self._check_open()
        return self._holds.condemn([parse(digest) for digest in digests])

    async def delete(
        self, sentence: Sentence, *, keep: Collection[Digest] = frozenset()
    ) -> frozenset[Digest]:
        self._check_open()
        doomed = self._holds.begin_deleting(sentence, keep)
        for digest in doomed:
            self.content.pop(digest, None)
        self._holds.end_deleting(doomed)
        return doomed

    async def compact(self) -> int:
        self._check_open()
        return 0

    async def verify(self) -> AsyncIterator[Damage]:
        self._check_open()
        for digest, content in sorted(self.content.items()):
            if digest_of(content) != digest:
                yield Damage(digest=digest, where="memory", reason="not what was stored")

    async def close(self) -> None:
        self._closed = True

    @asynccontextmanager
    async def _holding(self) -> AsyncGenerator[Hold, None]:
        self._check_open()
        hold = self._holds.begin()
        try:
            yield hold
        finally:
            self._holds.end(hold)

    def _find(self, digest: Digest) -> bytes:
        self._check_open()
        if parse(digest) not in self.content:
            raise BlobMissing(digest=digest)
        return self.content[digest]

    def _sound(self, digest: Digest) -> bytes:
        content = self._find(digest)
        if digest_of(content) != digest:
            raise BlobCorrupt(digest=digest, reason="its bytes are not what was stored")
        return content

    def _check_open(self) -> None:
        if self._closed:
            raise BlobsClosed


async def _pieces(content: Content) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
    elif isinstance(content, AsyncIterable):
        async for piece in content:
            yield piece
    elif isinstance(content, Path):
        yield await asyncio.to_thread(_read_file, content)
    else:
        while piece := await asyncio.to_thread(content.read, 1 << 20):
            yield piece


def _read_file(path: Path) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read()
