"""Blobs in a folder: the contract kept with plain files.

    blobs = await open_folder(Path(".coven/blobs"))

Everything that can wait for a disk runs in four threads of this store's own, so that it neither
blocks the event loop nor is starved by other users of the loop's shared threads. A caller who is
cancelled leaves at once; its thread finishes or gives up by itself, and nothing half done counts.

This module is the way in and out of the threads. What happens in them is in `storing`, `reading`,
`shelves` and `compaction`.
"""

import asyncio
import errno
import os
import stat
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from blake3 import blake3

from coven.store.blobs import compaction, storing
from coven.store.blobs.contract import LIST_ROWS_MAX, Content
from coven.store.blobs.disk import Disk, told
from coven.store.blobs.model import (
    BlobsClosed,
    Damage,
    Digest,
    Hold,
    Limits,
    Readable,
    Sentence,
    parse,
)
from coven.store.blobs.reading import Copies, check_all
from coven.store.blobs.shelves import Shelves
from coven.store.blobs.storing import Batch, Incoming

T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 4
_VERIFY_SHELVES = 16


async def open_folder(
    path: Path, *, limits: Limits | None = None, disk: Disk | None = None
) -> "FolderBlobs":
    """Open a blob folder, made if need be; sweep what a crash left; keep other processes out.

    Raises BlobsInUse, BlobsReadOnly, BlobsFull, BlobsUnusable (a folder that is not ours, or of a
    newer layout), BlobsFailed.
    """

    def open_shelves() -> Shelves:
        with told(path):
            return Shelves(path, disk or Disk(), limits or Limits())

    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="blobs")
    opening = threads.submit(open_shelves)
    try:
        return FolderBlobs(await asyncio.wrap_future(opening), threads)
    except BaseException:
        # Whoever is cancelled here must not leave the folder locked.
        opening.add_done_callback(_close_unwanted)
        threads.shutdown(wait=False)
        raise


class FolderBlobs:
    """The contract `Blobs`, kept in a folder. Made by `open_folder`."""

    def __init__(self, shelves: Shelves, threads: ThreadPoolExecutor) -> None:
        self._shelves = shelves
        self._threads = threads
        self._closed = False

    def hold(self) -> AbstractAsyncContextManager[Hold]:
        return self._holding()

    async def put(self, content: Content, *, hold: Hold) -> Digest:
        if isinstance(content, bytes):
            return await self._run(storing.put_bytes, self._shelves, content, hold)
        if isinstance(content, AsyncIterable):
            return await self._put_stream(content, hold)
        incoming = await self._run(Incoming, self._shelves, hold)
        try:
            await self._await(self._copy, content, incoming)
            return await self._run(incoming.finish)
        finally:
            self._later(incoming.discard)

    async def put_many(
        self, contents: Iterable[bytes] | AsyncIterable[bytes], *, hold: Hold
    ) -> list[Digest]:
        batch = await self._run(Batch, self._shelves, hold)
        digests: list[Digest] = []
        try:
            async for portion in _portions(contents, self._shelves.limits.block_bytes):
                digests += await self._run(batch.add, portion)
            await self._run(batch.publish)
        finally:
            self._later(batch.discard)
        return digests

    async def missing(self, digests: Collection[Digest], *, hold: Hold) -> set[Digest]:
        asked = [parse(digest) for digest in digests]
        return await self._run(storing.find_missing, self._shelves, asked, hold)

    async def has(self, digest: Digest) -> bool:
        return await self._run(self._shelves.has, parse(digest))

    async def size(self, digest: Digest) -> int:
        return await self._read(digest, lambda copies: copies.length())

    async def get(self, digest: Digest) -> bytes:
        return await self._read(digest, lambda copies: copies.whole())

    async def get_range(self, digest: Digest, *, offset: int, length: int) -> bytes:
        return await self._read(digest, lambda copies: copies.read(offset, length))

    async def stream(self, digest: Digest) -> AsyncIterator[bytes]:
        copies = Copies(self._shelves, parse(digest))
        hasher = blake3()
        offset, step = 0, self._shelves.limits.block_bytes

        def read() -> bytes:
            piece = copies.read(offset, step)
            hasher.update(piece)
            if not piece:
                copies.check_whole(hasher.hexdigest())
            return piece

        try:
            while piece := await self._run(read):
                offset += len(piece)
                yield piece
        finally:
            self._later(copies.close)

    async def list(self, *, after: Digest | None = None, limit: int = 1000) -> list[Digest]:
        start = parse(after) if after is not None else None
        return await self._run(_list, self._shelves, start, max(1, min(limit, LIST_ROWS_MAX)))

    async def condemn(self, digests: Collection[Digest]) -> Sentence:
        self._check_open()
        return self._shelves.holds.condemn([parse(digest) for digest in digests])

    async def delete(
        self, sentence: Sentence, *, keep: Collection[Digest] = frozenset()
    ) -> frozenset[Digest]:
        return await self._run(self._shelves.delete, sentence, frozenset(keep))

    async def compact(self) -> int:
        return await self._run(compaction.compact, self._shelves)

    async def verify(self) -> AsyncIterator[Damage]:
        shelves = compaction.SHELVES
        for first in range(0, len(shelves), _VERIFY_SHELVES):
            portion = shelves[first : first + _VERIFY_SHELVES]
            for damage in await self._run(_check, self._shelves, portion):
                yield damage
        for where, reason in await self._run(lambda: list(self._shelves.strangers())):
            yield Damage(digest=None, where=where, reason=reason)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True

        def finish() -> None:
            self._threads.shutdown(wait=True)
            self._shelves.close()

        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, finish))

    # -- in the event loop

    @asynccontextmanager
    async def _holding(self) -> AsyncGenerator[Hold, None]:
        self._check_open()
        hold = self._shelves.holds.begin()
        try:
            yield hold
        finally:
            # Not awaited: letting go must work for a caller who has been cancelled.
            self._shelves.holds.end(hold)

    async def _put_stream(self, content: AsyncIterable[bytes], hold: Hold) -> Digest:
        incoming = await self._run(Incoming, self._shelves, hold)
        try:
            async for portion in _portions(content, self._shelves.limits.block_bytes):
                await self._run(incoming.write, b"".join(portion))
            return await self._run(incoming.finish)
        finally:
            self._later(incoming.discard)

    async def _read(self, digest: Digest, question: Callable[[Copies], T]) -> T:
        copies = Copies(self._shelves, parse(digest))

        def ask() -> T:
            try:
                return question(copies)
            finally:
                copies.close()

        return await self._run(ask)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do blocking work on the folder in a thread, and say clearly what went wrong."""

        def clearly() -> T:
            with told(self._shelves.path):
                return work(*args, **kwargs)

        return await self._await(clearly)

    async def _await(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_open()
        future = self._threads.submit(partial(work, *args, **kwargs))
        return await asyncio.wrap_future(future)

    def _later(self, work: Callable[[], None]) -> None:
        """Have something tidied up, without waiting: the caller may have been cancelled."""
        if self._closed:
            return  # what is still open goes with the process, what is a draft is swept at open
        self._threads.submit(work)

    def _check_open(self) -> None:
        if self._closed:
            raise BlobsClosed

    # -- in a thread

    def _copy(self, content: Path | Readable, incoming: Incoming) -> None:
        if isinstance(content, Path):
            # A link, a pipe or a device in the place of the file is not what the caller means.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(content, flags), "rb", buffering=0) as file:
                _refuse_special(file.fileno(), content)
                self._copy(file, incoming)
            return
        while piece := content.read(self._shelves.limits.block_bytes):
            with told(self._shelves.path):
                incoming.write(piece)


def _list(shelves: Shelves, after: Digest | None, limit: int) -> list[Digest]:
    found: list[Digest] = []
    first = int(after[:2], 16) if after is not None else 0
    for prefix in compaction.SHELVES[first:]:
        here = shelves.digests(prefix)
        found += here if after is None else [digest for digest in here if digest > after]
        if len(found) >= limit:
            break
    return found[:limit]


def _check(shelves: Shelves, prefixes: Iterable[str]) -> list[Damage]:
    damages: list[Damage] = []
    for prefix in prefixes:
        with suppress(NotADirectoryError):  # that is told among the strangers
            for digest in shelves.digests(prefix):
                damages += check_all(shelves, digest)
    return damages


async def _portions(
    contents: Iterable[bytes] | AsyncIterable[bytes], portion_bytes: int
) -> AsyncIterator[list[bytes]]:
    """Pieces put together until they are worth a walk to a thread."""
    portion: list[bytes] = []
    weight = 0
    async for piece in _each(contents):
        portion.append(piece)
        # An empty piece weighs something too, or a source of them would fill the memory.
        weight += len(piece) + 64
        if weight >= portion_bytes:
            yield portion
            portion, weight = [], 0
    if portion:
        yield portion


async def _each(contents: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(contents, AsyncIterable):
        async for content in contents:
            yield content
    else:
        for content in contents:
            yield content


def _refuse_special(file: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _close_unwanted(opening: "Future[Shelves]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
