"""One life of a process that uses a blob folder until it is killed, and what it says meanwhile.

    python blobs_life.py FOLDER SEED FAILPOINTS

Each line it prints is a promise, written after the store has answered: `put 7` says that content 7
is stored. `try 7` and `doomed 7` come before the attempt, so that whoever reads the lines knows
what may have happened when the last one is missing. `put` is said inside the hold, so no deletion
that began before it can have taken the blob.
"""

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from coven.core import failpoints
from coven.store.blobs import Digest, FolderBlobs, Limits, digest_of, open_folder

LIMITS = Limits(block_bytes=256, packed_bytes_max=200, pack_bytes_max=2000, gather_files_min=4)
CONTENTS = 40
STEPS_MAX = 400


def content_of(number: int) -> bytes:
    """The content that a number stands for: empty, small, or several blocks long."""
    return random.Random(number).randbytes((0, 3, 150, 200, 201, 900)[number % 6]) + b"%d" % number


NUMBER_OF: dict[Digest, int] = {digest_of(content_of(n)): n for n in range(CONTENTS)}


def say(what: str, *numbers: int) -> None:
    os.write(1, "".join(f"{what} {number}\n" for number in numbers).encode())


async def put(blobs: FolderBlobs, numbers: list[int], *, batch: bool) -> None:
    say("try", *numbers)
    async with blobs.hold() as hold:
        if batch:
            await blobs.put_many([content_of(number) for number in numbers], hold=hold)
            say("put", *numbers)
        else:
            for number in numbers:
                content = content_of(number)
                await blobs.put(content if number % 2 else pieces(content), hold=hold)
                say("put", number)


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    for offset in range(0, len(content), 77):
        yield content[offset : offset + 77]


async def delete(blobs: FolderBlobs, numbers: list[int]) -> None:
    sentence = await blobs.condemn([digest_of(content_of(number)) for number in numbers])
    say("doomed", *(NUMBER_OF[digest] for digest in sentence.digests))
    say("gone", *(NUMBER_OF[digest] for digest in await blobs.delete(sentence)))


async def work(blobs: FolderBlobs, chance: random.Random) -> None:
    """One of several workers that step on each other's toes."""
    for _ in range(STEPS_MAX):
        numbers = chance.sample(range(CONTENTS), chance.randint(1, 8))
        match chance.randrange(8):
            case 0 | 1:
                await put(blobs, numbers[:2], batch=False)
            case 2 | 3 | 4:
                await put(blobs, numbers, batch=True)
            case 5 | 6:
                await delete(blobs, numbers)
            case _:
                await blobs.compact()


async def live(folder: Path, seed: int) -> None:
    blobs = await open_folder(folder, limits=LIMITS)
    workers = (work(blobs, random.Random(seed * 10 + number)) for number in range(3))
    await asyncio.gather(*workers)
    await blobs.close()


if __name__ == "__main__":
    failpoints.arm(sys.argv[3])
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2])))
