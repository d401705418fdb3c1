"""What a blob store promises, whoever keeps it: a folder today, an object store later.

Content goes in and comes out by its digest. A reply means that it is on disk: after `put`,
`put_many` and `delete` return, neither a crash nor a power cut takes it back. Methods are `async`
because an object store is a network away; the folder runs its blocking work in threads of its own,
so no implementation ever blocks the event loop.

Not here: who refers to a blob. That is in the rooms' rows, and only the rows make a blob worth
keeping. The order is therefore always: hold, put, commit the row that names it, let go.

    async with blobs.hold() as hold:
        digest = await blobs.put(content, hold=hold)
        await store.write(remember, digest)

After a crash in the middle the blob is there and no row names it; `collection.collect` finds it by
listing. A row without its blob cannot come about. Retries, counting and logging are decorators of
this contract; no implementation does them. Every implementation runs `tests/contracts`.
"""

from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from coven.store.blobs.model import Damage, Digest, Hold, Readable, Sentence

Content = bytes | Path | Readable | AsyncIterable[bytes]
"""What can be put. All but `bytes` may be larger than memory."""

LIST_ROWS_MAX = 10_000


class Blobs(Protocol):
    """A content-addressed store of immutable bytes."""

    def hold(self) -> AbstractAsyncContextManager[Hold]:
        """Protect what is put, until the row that names it has been committed.

        For every use case that stores a blob: around the put and the commit. Holds are cheap
        and independent of each other; one that a crash cuts off is gone, with the use case that
        had it. A store that several daemons share keeps its holds where all of them see them.
        """
        ...

    async def put(self, content: Content, *, hold: Hold) -> Digest:
        """Store a content, durably, and hold it.

        Idempotent: the same content again is the same blob, and costs no room. A copy that is there
        already is read and checked before it is relied on; where it is damaged this put repairs it,
        where it is condemned this put pardons it, where it is being deleted this put stores it
        anew. A path must name a regular file, not a link. Errors in reading the content are raised
        as they are, and then nothing was stored.

        Raises BlobTooLarge, BlobsFull, BlobsReadOnly (nothing was stored), BlobsFailed (unknown;
        doing it again is safe), HoldEnded.
        """
        ...

    async def put_many(
        self, contents: Iterable[bytes] | AsyncIterable[bytes], *, hold: Hold
    ) -> list[Digest]:
        """Store many contents with one durability barrier; their digests, in the same order.

        For journals of pages, chunks and messages: small contents share a file, so a thousand of
        them cost about what one costs. Nothing of the batch counts before this returns, and after
        an error or a crash any part of it may be there. Otherwise as `put`.
        """
        ...

    async def missing(self, digests: Collection[Digest], *, hold: Hold) -> set[Digest]:
        """Which of these are not here. The others are held, and pardoned, from now on.

        To be asked before content is read or sent at all: "put only what is missing" is safe with
        this and would not be with `has`, whose answer may be out of date when it arrives. The
        copies are not read, so damage shows only when they are; a `put` repairs it.
        """
        ...

    async def has(self, digest: Digest) -> bool:
        """Whether the blob is here now. For looking; to rely on it, use `missing` or `put`."""
        ...

    async def size(self, digest: Digest) -> int:
        """How many bytes the blob has. Raises BlobMissing, BlobCorrupt."""
        ...

    async def get(self, digest: Digest) -> bytes:
        """The whole content, checked against its digest.

        Raises BlobMissing; BlobCorrupt when no copy is sound: wrong bytes are never returned;
        BlobTooLarge for what does not belong into memory in one piece.
        """
        ...

    async def get_range(self, digest: Digest, *, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, at most `length`, checked as `get` checks them.

        Like reading a file: fewer bytes at the end, none after it. Raises InvalidRange as well.
        """
        ...

    def stream(self, digest: Digest) -> AsyncIterator[bytes]:
        """The content piece by piece, each checked before it is given out.

        A stream that has begun goes on although the blob is deleted meanwhile. When it ends without
        an error, the whole was checked against the digest. Close it (`contextlib.aclosing`) when
        leaving it early. Raises as `get`, never BlobTooLarge.
        """
        ...

    async def list(self, *, after: Digest | None = None, limit: int = 1000) -> list[Digest]:
        """The digests of what is here, ascending, after a given one; an empty list is the end.

        For going through all of them, as `collection.collect` does. A blob that is here all the
        while appears exactly once; one that comes or goes meanwhile may or may not appear. At most
        LIST_ROWS_MAX.
        """
        ...

    async def condemn(self, digests: Collection[Digest]) -> Sentence:
        """Mark blobs for deletion: the first of two phases. What is held is left out.

        For `collection.collect` only, *before* it looks whether rows name them. Changes nothing
        that can be read, is not durable, and need not be carried out. A later sentence over the
        same blob replaces this one.
        """
        ...

    async def delete(
        self, sentence: Sentence, *, keep: Collection[Digest] = frozenset()
    ) -> frozenset[Digest]:
        """Delete what is still condemned by this sentence, durably; say what is gone now.

        Not deleted: `keep` (what the rows name), and whatever was put or asked for with `missing`
        since the sentence. Both are pardoned. Why this is safe: `coven.store.blobs.holds`.
        Idempotent: a sentence that was carried out, or is from before a restart, deletes nothing.
        On an error some are deleted and some not, and the next collection sees which.
        """
        ...

    async def compact(self) -> int:
        """Gather small files into packs; how many blobs moved.

        For upkeep, now and then: it saves files, and nothing else depends on it. Idempotent, and
        invisible: every read answers the same before, during and after, and after a crash in the
        middle.
        """
        ...

    def verify(self) -> AsyncIterator[Damage]:
        """Read every copy of every blob and tell what is damaged, and what is not ours.

        For whoever looks for damage before a reader meets it. Repairs nothing, may run beside
        everything else, and may be left at any point.
        """
        ...

    async def close(self) -> None:
        """Finish what has begun and let go of the store. Once closed, every method but this one
        raises BlobsClosed. Opening the same place again finds every blob; holds and sentences do
        not survive, because the use cases that had them have not.
        """
        ...
