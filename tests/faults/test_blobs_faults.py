"""Killing a process that uses a blob folder, and failing its disk: what it promised is kept.

Every run prints its seed; `COVEN_SEED=<seed>` repeats it. COVEN_PROVE=1 asks for full counts.
"""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from coven.core import failpoints, ids
from coven.store.blobs import BlobsFailed, digest_of, open_folder
from tests.faults.blobs_life import CONTENTS, LIMITS, NUMBER_OF, content_of

pytestmark = [pytest.mark.fault, pytest.mark.timeout(900)]

PROVE = os.environ.get("COVEN_PROVE") == "1"
SEED = int(os.environ.get("COVEN_SEED") or random.SystemRandom().randrange(1 << 32))
RANDOM_KILLS = 200 if PROVE else 5
KILLS_PER_POINT = 8 if PROVE else 1
POINTS = [point for point in failpoints.declared() if point.startswith("blobs.")]
LIFE = Path(__file__).with_name("blobs_life.py")


class Promises:
    """What a life has promised: which contents must be there, and which must not."""

    def __init__(self) -> None:
        self.present: set[int] = set()
        self.gone: set[int] = set(range(CONTENTS))
        self._trying: Counter[int] = Counter()

    def hear(self, line: bytes) -> None:
        what, _, text = line.partition(b" ")
        number = int(text)
        if what == b"try":
            self._trying[number] += 1
            self.gone.discard(number)
        elif what == b"put":
            self._trying[number] -= 1
            self.present.add(number)
        elif what == b"doomed":
            self.present.discard(number)
        elif not self._trying[number] and number not in self.present:
            self.gone.add(number)

    async def are_kept(self, folder: Path) -> None:
        """Look at what the life has left, and take it as what the next one begins with."""
        blobs = await open_folder(folder, limits=LIMITS)
        digests = await blobs.list(limit=10_000)
        found = {NUMBER_OF[digest] for digest in digests}
        assert not self.present - found, "a promised blob is lost"
        assert not self.gone & found, "a deleted blob has come back"
        for digest in digests:
            assert await blobs.get(digest) == content_of(NUMBER_OF[digest])
        assert [damage async for damage in blobs.verify()] == []
        assert list((folder / "drafts").iterdir()) == []
        await blobs.close()
        self.present, self.gone = found, set(range(CONTENTS)) - found
        self._trying.clear()


def live(folder: Path, promises: Promises, *, seed: int, armed: str = "", lines: int = 0) -> int:
    """Run one life, killed by itself at a point, or by us after some lines; how it ended."""
    print(f"seed {seed} armed {armed!r} lines {lines}")
    command = [sys.executable, str(LIFE), str(folder), str(seed), armed]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout, start=1):
            promises.hear(line)
            if count == lines:
                process.send_signal(signal.SIGKILL)
        return process.wait()


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_at_any_point_keeps_every_promise(point: str, tmp_path: Path) -> None:
    folder, promises = tmp_path / "blobs", Promises()
    chance = random.Random(f"{SEED} {point}")
    for _ in range(KILLS_PER_POINT):
        for _ in range(3):  # something for the sweep to find
            (folder / "drafts").mkdir(parents=True, exist_ok=True)
            (folder / "drafts" / ids.new()).write_bytes(b"half")
        count = 1 if point == "blobs.open.made" else chance.randint(1, 3)
        seed = chance.randrange(1 << 32)
        ended = live(folder, promises, seed=seed, armed=f"{point}=kill@{count}")
        assert ended == -signal.SIGKILL, "the point was never reached"
        await promises.are_kept(folder)


async def test_a_kill_at_any_moment_keeps_every_promise(tmp_path: Path) -> None:
    folder, promises = tmp_path / "blobs", Promises()
    chance = random.Random(f"{SEED} moments")
    for _ in range(RANDOM_KILLS):
        lines = chance.randint(1, 300)
        live(folder, promises, seed=chance.randrange(1 << 32), lines=lines)
        await promises.are_kept(folder)


@pytest.mark.parametrize("point", [point for point in POINTS if "open" not in point])
async def test_an_error_at_any_point_is_told_and_doing_it_again_is_safe(
    point: str, tmp_path: Path
) -> None:
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    contents = [content_of(number) for number in range(CONTENTS)]
    digests = [digest_of(content) for content in contents]
    keep = set(digests[::3])

    async def everything() -> None:
        async with blobs.hold() as hold:
            await blobs.put_many(contents, hold=hold)
            await blobs.put(contents[5], hold=hold)
        await blobs.delete(await blobs.condemn(digests), keep=keep)

    failpoints.arm(f"{point}=error")
    try:
        with pytest.raises(BlobsFailed):
            await everything()
    finally:
        failpoints.arm("")
    assert [damage async for damage in blobs.verify()] == []
    await everything()
    assert set(await blobs.list()) == keep
    for content in contents[::3]:
        assert await blobs.get(digest_of(content)) == content
    await blobs.close()
    assert list((tmp_path / "blobs" / "drafts").iterdir()) == []
