"""Cutting the power under a blob folder: what was acknowledged was on the disk.

A killed process leaves its writes in the memory of the kernel, so it cannot show a sync that was
forgotten. Here the disk itself forgets: at each single call that the folder makes, the power goes,
and whatever was not synced is taken back, all of it or a part chosen by a printed seed.
"""

import asyncio
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from coven.core.errors import CovenError
from coven.store.blobs import FolderBlobs, digest_of, open_folder
from tests.faults.blobs_life import CONTENTS, LIMITS, content_of
from tests.store.disks import ForgetfulDisk, PowerCut

pytestmark = [pytest.mark.fault, pytest.mark.timeout(900)]

PROVE = os.environ.get("COVEN_PROVE") == "1"
SEED = int(os.environ.get("COVEN_SEED") or random.SystemRandom().randrange(1 << 32))
PLENTY = 1 << 30


class Life:
    """A fixed sequence of everything a folder can do, and what it has promised so far."""

    def __init__(self) -> None:
        self.present: set[int] = set()
        self.gone: set[int] = set(range(CONTENTS))

    async def live(self, folder: Path, disk: ForgetfulDisk) -> None:
        blobs = await open_folder(folder, limits=LIMITS, disk=disk)
        try:
            await self.put_each(blobs, range(4))
            await self.put_batch(blobs, range(2, 20))
            await self.delete(blobs, (0, 4, 5, 11, 12, 13))
            await self.put_each(blobs, (4, 5, 6, 0))
            await self.put_batch(blobs, range(10, 36))
            await blobs.compact()
            await self.delete(blobs, range(8, 30, 2))
            await self.put_batch(blobs, range(9, 20))
            await blobs.compact()
            await self.delete(blobs, range(CONTENTS))
            await self.put_each(blobs, (1, 5))
        finally:
            await blobs.close()

    async def put_each(self, blobs: FolderBlobs, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.gone.discard(number)
            async with blobs.hold() as hold:
                await blobs.put(content_of(number), hold=hold)
            self.present.add(number)

    async def put_batch(self, blobs: FolderBlobs, numbers: Iterable[int]) -> None:
        self.gone -= set(numbers)
        async with blobs.hold() as hold:
            await blobs.put_many([content_of(number) for number in numbers], hold=hold)
        self.present |= set(numbers)

    async def delete(self, blobs: FolderBlobs, numbers: Iterable[int]) -> None:
        self.present -= set(numbers)
        sentence = await blobs.condemn([digest_of(content_of(number)) for number in numbers])
        await blobs.delete(sentence)
        self.gone |= set(numbers)

    async def is_kept(self, folder: Path) -> None:
        blobs = await open_folder(folder, limits=LIMITS)
        for number in self.present:
            assert await blobs.get(digest_of(content_of(number))) == content_of(number)
        for number in self.gone:
            assert not await blobs.has(digest_of(content_of(number))), "it came back"
        assert [damage async for damage in blobs.verify()] == []
        await blobs.close()


async def cut_at(place: Path, call: int, seed: int | None) -> None:
    """One life with the power cut at one call, and what is found afterwards."""
    print(f"cut at call {call}, seed {seed}")
    place.mkdir()
    disk, life = ForgetfulDisk(place / "graves", calls=call, seed=seed), Life()
    with pytest.raises((CovenError, PowerCut)):
        await life.live(place / "blobs", disk)
    disk.cut()
    await life.is_kept(place / "blobs")


async def test_a_power_cut_at_any_call_keeps_every_promise(tmp_path: Path) -> None:
    disk = ForgetfulDisk(tmp_path / "graves", calls=PLENTY)
    await Life().live(tmp_path / "blobs", disk)
    calls = PLENTY - disk.calls_left
    chance = random.Random(SEED)
    for number, call in enumerate(range(calls) if PROVE else chance.sample(range(calls), 12)):
        await cut_at(tmp_path / f"{number}-all", call, None)
        await cut_at(tmp_path / f"{number}-some", call, chance.randrange(1 << 32))


async def test_what_is_found_after_a_cut_is_on_disk_before_it_is_relied_on(tmp_path: Path) -> None:
    """A name that the first life did not sync is one that the second must not take for granted."""
    first = ForgetfulDisk(tmp_path / "first", calls=PLENTY)
    await Life().live(tmp_path / "blobs", first)
    shelf = tmp_path / "blobs" / "loose" / digest_of(content_of(5))[:2]
    second = ForgetfulDisk(tmp_path / "second", calls=PLENTY)
    # As a kill leaves it: renamed, visible, and nowhere but in the memory of the kernel.
    second.forget_names_of(shelf)
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=second)
    async with blobs.hold() as hold:
        await blobs.put(content_of(5), hold=hold)
    await blobs.close()
    await asyncio.to_thread(second.cut)
    assert (shelf / digest_of(content_of(5))).exists()
