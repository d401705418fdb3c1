"""Blobs: bytes that never change, named by their BLAKE3 digest, for what is too large for a row.

What other rooms use: the contract `Blobs` (a daemon opens one and hands it down), `collect` to
delete what no row names, and the nouns and errors. The contract says what is promised;
`open_folder` makes the one implementation there is, a folder beside the database. This is not a
cache, and it knows neither names, owners nor dates: those are rows. Small values, up to a few
kilobytes, belong into the rows themselves.
"""

from coven.store.blobs.collection import Collected, collect
from coven.store.blobs.contract import Blobs, Content
from coven.store.blobs.folder import FolderBlobs, open_folder
from coven.store.blobs.model import (
    BlobCorrupt,
    BlobMissing,
    BlobsClosed,
    BlobsFailed,
    BlobsFull,
    BlobsInUse,
    BlobsReadOnly,
    BlobsUnusable,
    BlobTooLarge,
    Damage,
    Digest,
    Hold,
    HoldEnded,
    InvalidRange,
    Limits,
    MalformedDigest,
    Sentence,
    digest_of,
    parse,
)

__all__ = [
    "BlobCorrupt",
    "BlobMissing",
    "BlobTooLarge",
    "Blobs",
    "BlobsClosed",
    "BlobsFailed",
    "BlobsFull",
    "BlobsInUse",
    "BlobsReadOnly",
    "BlobsUnusable",
    "Collected",
    "Content",
    "Damage",
    "Digest",
    "FolderBlobs",
    "Hold",
    "HoldEnded",
    "InvalidRange",
    "Limits",
    "MalformedDigest",
    "Sentence",
    "collect",
    "digest_of",
    "open_folder",
    "parse",
]
