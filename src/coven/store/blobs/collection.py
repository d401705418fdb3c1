"""Collection: deleting the blobs that no row names, in the one order that is safe.

`used` is asked *after* a page of blobs has been condemned, which is what the proof in `holds`
stands on. It has to answer for everybody: every room that keeps digests, in every project of this
store.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from coven.store.blobs.contract import Blobs
from coven.store.blobs.model import Digest

Used = Callable[[frozenset[Digest]], Awaitable[Collection[Digest]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What one collection did."""

    seen: int
    deleted: int


async def collect(blobs: Blobs, used: Used, *, page_rows: int = 1000) -> Collected:
    """Delete what no row names. Idempotent; a crash in the middle leaves the rest for later."""
    seen = deleted = 0
    after: Digest | None = None
    while digests := await blobs.list(after=after, limit=page_rows):
        sentence = await blobs.condemn(digests)
        gone = await blobs.delete(sentence, keep=await used(sentence.digests))
        seen, deleted, after = seen + len(digests), deleted + len(gone), digests[-1]
    return Collected(seen=seen, deleted=deleted)
