"""Blob stores keep the contract: the folder, and the fake that stands in for it in tests."""

from pathlib import Path

import pytest

from coven.store.blobs import Digest, FolderBlobs, open_folder
from coven.testing import MemoryBlobs
from tests.contracts.blobs_contract import CLAUSES, LIMITS, Clause, House


class FolderHouse:
    """`FolderBlobs` for the suite."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.folder = scratch / "blobs"

    async def open(self) -> FolderBlobs:
        return await open_folder(self.folder, limits=LIMITS)

    def damage(self, digest: Digest) -> None:
        loose = self.folder / "loose" / digest[:2] / digest
        # In the packs of the suite the first content, after the magic, is the one to be damaged.
        for path in [loose] if loose.exists() else (self.folder / "packs").iterdir():
            flip(path, 8)


class MemoryHouse:
    """`MemoryBlobs` for the suite."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.content: dict[Digest, bytes] = {}

    async def open(self) -> MemoryBlobs:
        return MemoryBlobs(self.content, limits=LIMITS)

    def damage(self, digest: Digest) -> None:
        self.content[digest] = b"\0" + self.content[digest][1:] + b"\0"


@pytest.fixture(params=[FolderHouse, MemoryHouse])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> House:
    return request.param(tmp_path)


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.__name__)
async def test_every_blob_store_keeps_the_contract(clause: Clause, house: House) -> None:
    await clause(house)


def flip(path: Path, at: int) -> None:
    """Change one byte of a file that was meant never to change."""
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.chmod(0o600)
    path.write_bytes(content)
