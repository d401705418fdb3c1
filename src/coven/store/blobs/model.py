"""The nouns of blobs: digests, holds, sentences, damage, limits, and everything that can go wrong.

A blob is bytes that never change, named by their own BLAKE3 digest. It has no owner, no type and no
date here: the rooms' rows say what a blob is for. Pure: nothing in this module touches a disk.
"""

import re
from dataclasses import dataclass
from typing import NewType, Protocol

from blake3 import blake3

from coven.core.errors import CovenError, Kind

Digest = NewType("Digest", str)
"""The BLAKE3 hash of a blob's content, as 64 lower-case hexadecimal digits."""

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


class MalformedDigest(CovenError):
    """{text!r} is not the digest of a blob."""

    code = "MALFORMED_DIGEST"
    kind = Kind.MALFORMED
    remedy = "A digest is 64 lower-case hexadecimal digits; copy it whole."


class InvalidRange(CovenError):
    """There are no {length} bytes to read at offset {offset}."""

    code = "BLOB_RANGE_INVALID"
    kind = Kind.INVALID
    remedy = "Offset and length are whole numbers that are not negative."


class BlobMissing(CovenError):
    """There is no blob {digest}."""

    code = "BLOB_MISSING"
    kind = Kind.MISSING
    remedy = "Put the content again, or restore the blob folder from a copy of it."


class BlobCorrupt(CovenError):
    """Blob {digest} is damaged: {reason}."""

    code = "BLOB_CORRUPT"
    kind = Kind.UNAVAILABLE
    remedy = (
        "The disk gave back other bytes than were stored. Putting the same content again repairs "
        "it; otherwise restore the blob folder from a copy of it, and look at the disk."
    )


class BlobTooLarge(CovenError):
    """A blob of {bytes} bytes is over the limit of {bytes_max} bytes."""

    code = "BLOB_TOO_LARGE"
    kind = Kind.TOO_LARGE
    remedy = "Read it as a stream or in ranges; when storing, cut the content into several blobs."


class BlobsFull(CovenError):
    """There is no room left on the disk of the blob folder {folder}. Nothing was stored."""

    code = "BLOBS_FULL"
    kind = Kind.UNAVAILABLE
    remedy = "Free some room on that disk, then do it again."


class BlobsReadOnly(CovenError):
    """The blob folder {folder} cannot be written ({reason})."""

    code = "BLOBS_READ_ONLY"
    kind = Kind.UNAVAILABLE
    remedy = "Let the user who runs the daemon write there, and check how its disk is mounted."


class BlobsUnusable(CovenError):
    """The blob folder {folder} is not as Coven made it: {reason}."""

    code = "BLOBS_UNUSABLE"
    kind = Kind.UNAVAILABLE
    remedy = "Put back what stood there, or name another folder. Coven has changed nothing in it."


class BlobsInUse(CovenError):
    """The blob folder {folder} is in use by process {holder}."""

    code = "BLOBS_IN_USE"
    kind = Kind.CONFLICT
    remedy = "Stop that process first: one process at a time opens a blob folder."


class BlobsFailed(CovenError):
    """The blob folder {folder} failed: {reason}. Whether the last change counted is not known."""

    code = "BLOBS_FAILED"
    kind = Kind.UNAVAILABLE
    remedy = "Look for disk errors in the system's log, then do it again: that is always safe."


class BlobsClosed(CovenError):
    """The blob store has been closed."""

    code = "BLOBS_CLOSED"
    kind = Kind.UNAVAILABLE
    remedy = "The daemon is stopping. Try again when it is up."


class HoldEnded(CovenError):
    """A blob was put under a hold that has ended."""

    code = "BLOB_HOLD_ENDED"
    kind = Kind.BUG
    remedy = "Put and commit inside one `async with blobs.hold()`; please report this."


class Damaged(Exception):
    """One copy of a blob cannot be believed. Stays inside: callers see BlobCorrupt or a Damage."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """While it lasts, nothing that was put under it can be deleted."""

    hold_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """The blobs that one `condemn` marked; `delete` takes those that nobody has pardoned since."""

    sentence_id: str
    digests: frozenset[Digest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that `verify` found wrong. `digest` is None where it is not about one blob."""

    digest: Digest | None
    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large things may be. Tests make them small to reach every branch with few bytes."""

    blob_bytes_max: int = 256 << 30
    """What one blob may hold: its table of blocks is then 8 MiB, which a range read can afford."""
    whole_bytes_max: int = 64 << 20
    """What `get` returns in one piece; more has to be streamed."""
    block_bytes: int = 1 << 20
    """The piece of a blob that is checked on its own, so that a range is checked as well."""
    packed_bytes_max: int = 256 << 10
    """Up to here a blob goes into a pack with others; a larger one has a file of its own."""
    pack_bytes_max: int = 16 << 20
    """Where a pack ends: deleting from a pack rewrites it, so this bounds the work and the room."""
    gather_files_min: int = 64
    """How many small files are worth gathering into one pack."""


class Readable(Protocol):
    """An open binary file, or whatever can be read like one, from a thread."""

    def read(self, size: int, /) -> bytes: ...


def parse(text: str) -> Digest:
    """The digest that untrusted text spells, or MalformedDigest."""
    if _DIGEST.fullmatch(text) is None:
        raise MalformedDigest(text=text[:80])
    return Digest(text)


def digest_of(content: bytes) -> Digest:
    """The digest of a content that is at hand."""
    return Digest(blake3(content).hexdigest())
