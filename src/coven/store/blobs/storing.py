"""Storing: from content to blobs that count. Blocking; runs in threads.

The order is always: know the digest, claim it, look what is there, write only what is needed, and
pass the barrier (`Shelves.publish`). Only after the claim can what is seen there be relied on.
"""

from collections.abc import Iterable

from coven.store.blobs.loose import LooseDraft
from coven.store.blobs.model import BlobTooLarge, Damaged, Digest, Hold, digest_of
from coven.store.blobs.packs import Pack, PackDraft
from coven.store.blobs.reading import fault
from coven.store.blobs.shelves import Shelves


class Incoming:
    """One blob of any size, written as it arrives."""

    def __init__(self, shelves: Shelves, hold: Hold) -> None:
        shelves.holds.check(hold)
        self._shelves = shelves
        self._hold = hold
        self._draft = LooseDraft(shelves.disk, shelves.drafts_folder, shelves.limits)
        self.write = self._draft.write

    def finish(self) -> Digest:
        """Store it, unless it is there already."""
        digest = self._draft.finish()
        self._shelves.holds.claim(digest, self._hold)
        seen = Seen(self._shelves)
        if not seen.is_sound(digest):
            self._shelves.publish([(self._draft, digest)])
            seen.repair()
        return digest

    def discard(self) -> None:
        """Give up. Safe at any time, from any thread, also after `finish`."""
        self._draft.draft.discard()


class Batch:
    """Many small blobs on their way in, with one barrier for all of them."""

    def __init__(self, shelves: Shelves, hold: Hold) -> None:
        shelves.holds.check(hold)
        self._shelves = shelves
        self._hold = hold
        self._seen = Seen(shelves)
        self._known: set[Digest] = set()
        self._packs: list[PackDraft] = []
        self._loose: list[tuple[LooseDraft, Digest]] = []
        self._given_up = False

    def add(self, contents: Iterable[bytes]) -> list[Digest]:
        """Write what is not there yet; the digests of all of these."""
        digests: list[Digest] = []
        for content in contents:
            digest = digest_of(content)
            digests.append(digest)
            if digest in self._known:
                continue
            self._known.add(digest)
            self._shelves.holds.claim(digest, self._hold)
            if not self._seen.is_sound(digest):
                self._write(digest, content)
        return digests

    def publish(self) -> None:
        """The barrier."""
        if self._loose or self._packs:
            self._shelves.publish(self._loose, self._packs)
        self._seen.repair()

    def discard(self) -> None:
        """Give up whatever was not published. Safe at any time and from any thread."""
        self._given_up = True
        for pack in tuple(self._packs):
            pack.draft.discard()
        for draft, _ in tuple(self._loose):
            draft.draft.discard()

    def _write(self, digest: Digest, content: bytes) -> None:
        limits, disk, drafts = self._shelves.limits, self._shelves.disk, self._shelves.drafts_folder
        if len(content) > limits.packed_bytes_max:
            loose = LooseDraft(disk, drafts, limits)
            self._loose.append((loose, digest))
            loose.write(content)
            loose.finish()
        else:
            if not self._packs or self._packs[-1].size_bytes + len(content) > limits.pack_bytes_max:
                self._packs.append(PackDraft(disk, drafts))
            self._packs[-1].add(digest, content)
        if self._given_up:
            # The caller left while this draft was being made, and did not see it.
            self.discard()


class Seen:
    """What was there already when a content came, and what has to be repaired because of it."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._damaged: dict[Pack, set[Digest]] = {}

    def is_sound(self, digest: Digest) -> bool:
        """Whether every copy that is here can be read, and no power cut can take it back."""
        packs = self._shelves.packs
        faults = [
            copy.reason if isinstance(copy, Damaged) else fault(copy)
            for copy in self._shelves.readers(digest)
        ]
        if faults and not any(faults):
            self._shelves.settle_shelf(digest)
            return True
        if faults:
            for pack in packs:
                if pack.find(digest) is not None:
                    self._damaged.setdefault(pack, set()).add(digest)
        return False

    def repair(self) -> None:
        """Take away the damaged copies in packs, now that a sound one counts."""
        # A damaged loose file needs nothing: the sound one has taken its name.
        if self._damaged:
            with self._shelves.moving:
                self._shelves.drop(self._damaged)


def put_bytes(shelves: Shelves, content: bytes, hold: Hold) -> Digest:
    """Store a content that is at hand; nothing is written if it is there."""
    if len(content) > shelves.limits.blob_bytes_max:
        raise BlobTooLarge(bytes=len(content), bytes_max=shelves.limits.blob_bytes_max)
    shelves.holds.check(hold)
    digest = digest_of(content)
    shelves.holds.claim(digest, hold)
    if Seen(shelves).is_sound(digest):
        return digest
    incoming = Incoming(shelves, hold)
    try:
        incoming.write(content)
        return incoming.finish()
    finally:
        incoming.discard()


def find_missing(shelves: Shelves, digests: Iterable[Digest], hold: Hold) -> set[Digest]:
    """Hold what is here; what is not."""
    shelves.holds.check(hold)
    absent: set[Digest] = set()
    for digest in digests:
        shelves.holds.claim(digest, hold)
        if shelves.has(digest):
            shelves.settle_shelf(digest)
        else:
            absent.add(digest)
    return absent
