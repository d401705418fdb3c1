"""Reading: every copy of one blob, read as one. Where a copy is damaged, the next one answers.

What is returned was checked. When no copy is sound the answer is BlobCorrupt, never wrong bytes.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from coven.store.blobs.model import (
    BlobCorrupt,
    BlobMissing,
    BlobTooLarge,
    Damage,
    Damaged,
    Digest,
    InvalidRange,
)
from coven.store.blobs.shelves import Reader, Shelves

T = TypeVar("T")


class Copies:
    """An open blob. Reads go to one copy until that turns out to be damaged."""

    def __init__(self, shelves: Shelves, digest: Digest) -> None:
        self.digest = digest
        self._shelves = shelves
        self._left = shelves.readers(digest)
        self._current: Reader | None = None
        self._reasons: list[str] = []

    def length(self) -> int:
        """How many bytes the blob has."""
        return self._ask(lambda reader: reader.length)

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on."""
        if offset < 0 or length < 0:
            raise InvalidRange(offset=offset, length=length)
        limit = self._shelves.limits.whole_bytes_max
        available = min(length, self.length() - offset)
        if available > limit:
            raise BlobTooLarge(bytes=available, bytes_max=limit)
        return self._ask(lambda reader: reader.read(offset, length))

    def whole(self) -> bytes:
        """All of it."""
        limit = self._shelves.limits.whole_bytes_max
        if self.length() > limit:
            raise BlobTooLarge(bytes=self.length(), bytes_max=limit)
        return self._ask(lambda reader: reader.whole())

    def check_whole(self, hexdigest: str) -> None:
        """What a stream has given out, taken together, must be what was asked for."""
        if hexdigest != self.digest:
            raise BlobCorrupt(digest=self.digest, reason="its bytes are not what was stored")

    def close(self) -> None:
        """Let go of the files."""
        if self._current is not None:
            self._current.close()
        self._left = iter(())

    def _ask(self, question: Callable[[Reader], T]) -> T:
        while True:
            if self._current is None:
                self._current = self._next()
            try:
                return question(self._current)
            except Damaged as damage:
                self._reasons.append(damage.reason)
                self._current.close()
                self._current = None

    def _next(self) -> Reader:
        for copy in self._left:
            if not isinstance(copy, Damaged):
                return copy
            self._reasons.append(copy.reason)
        if self._reasons:
            raise BlobCorrupt(digest=self.digest, reason="; ".join(self._reasons))
        raise BlobMissing(digest=self.digest, detail=_doubt(self._shelves))


def check_all(shelves: Shelves, digest: Digest) -> Iterator[Damage]:
    """Read every copy of a blob and tell which are damaged."""
    for copy in shelves.readers(digest):
        reason = copy.reason if isinstance(copy, Damaged) else fault(copy)
        if reason is not None:
            yield Damage(digest=digest, where=str(shelves.path), reason=reason)


def fault(reader: Reader) -> str | None:
    """What is wrong with a copy, all of which is read; None if nothing is. Closes it."""
    try:
        reader.check()
    except Damaged as damage:
        return damage.reason
    finally:
        reader.close()
    return None


def _doubt(shelves: Shelves) -> str | None:
    if not shelves.unreadable:
        return None
    names = ", ".join(sorted(shelves.unreadable))
    return f"It may have been in a pack whose index is damaged: {names}."
