"""Holds and sentences: why a blob that is being put again is never deleted under its new owner.

The writer holds, puts, commits a row that names the blob, lets go. The collector condemns blobs,
*then* reads which of them rows name, and then deletes what is neither named nor pardoned. A put
pardons. No clock is involved and no grace period has to be long enough.

Proof. Let a put of X be acknowledged and its row be committed, and let a deletion take X. That
deletion's sentence was given at c, the rows were read at r > c, and X went at d > r.

- The put came after d: it found nothing, and wrote X anew.
- The put came between c and d: it pardoned X, so this sentence did not take X. A put that comes
  while X is being taken waits until it is gone, and is the first case.
- The put came before c: were the hold still open at c, X would have been left out of the sentence.
  So the writer had let go, hence had committed, before c < r: the rows named X, and it was kept.

A row that copies a digest from another row needs no hold: the one is read and the other written in
one transaction. Follow the copies back from a row that was written after r: they end either at a
row that was there at r, so X was kept, or at a put after c, which pardoned X.

This is the bookkeeping of one process, in memory: a crash ends all holds together with the use
cases that had them, and a sentence that was not carried out changes nothing. The lock is held for a
few dictionary steps and never over a disk access; only `claim` waits, and it is called in threads.
"""

import threading
from collections.abc import Collection

from coven.core import ids
from coven.store.blobs.model import Digest, Hold, HoldEnded, Sentence


class Holds:
    """Who holds what, what is condemned, and what is being deleted at this moment."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[str, set[Digest]] = {}
        self._held: dict[Digest, int] = {}
        self._condemned: dict[Digest, str] = {}
        self._dying: set[Digest] = set()

    def begin(self) -> Hold:
        """Open a hold."""
        hold = Hold(hold_id=ids.new())
        with self._changed:
            self._open[hold.hold_id] = set()
        return hold

    def end(self, hold: Hold) -> None:
        """Let go of everything under it."""
        with self._changed:
            for digest in self._open.pop(hold.hold_id, set()):
                self._held[digest] -= 1
                if not self._held[digest]:
                    del self._held[digest]

    def check(self, hold: Hold) -> None:
        """Refuse a hold that has ended, before any work is done for it."""
        with self._changed:
            if hold.hold_id not in self._open:
                raise HoldEnded

    def claim(self, digest: Digest, hold: Hold) -> None:
        """Hold a blob and pardon it. From here on its presence or absence can be relied on."""
        with self._changed:
            # The deletion that is waited for runs in another thread and takes no claim itself.
            self._changed.wait_for(lambda: digest not in self._dying)
            if hold.hold_id not in self._open:
                raise HoldEnded
            self._condemned.pop(digest, None)
            if digest not in self._open[hold.hold_id]:
                self._open[hold.hold_id].add(digest)
                self._held[digest] = self._held.get(digest, 0) + 1

    def condemn(self, digests: Collection[Digest]) -> Sentence:
        """Mark what nobody holds."""
        sentence_id = ids.new()
        with self._changed:
            marked = frozenset(
                digest
                for digest in digests
                if digest not in self._held and digest not in self._dying
            )
            self._condemned.update(dict.fromkeys(marked, sentence_id))
        return Sentence(sentence_id=sentence_id, digests=marked)

    def begin_deleting(self, sentence: Sentence, keep: Collection[Digest]) -> frozenset[Digest]:
        """What may really be deleted. Claims wait for it until `end_deleting`."""
        kept = frozenset(keep)
        with self._changed:
            mine = [
                digest
                for digest in sentence.digests
                if self._condemned.get(digest) == sentence.sentence_id
            ]
            for digest in mine:
                del self._condemned[digest]
            doomed = frozenset(mine) - kept
            self._dying |= doomed
        return doomed

    def end_deleting(self, doomed: frozenset[Digest]) -> None:
        """The deletion has happened, or has failed; either way it is over."""
        with self._changed:
            self._dying -= doomed
            self._changed.notify_all()
