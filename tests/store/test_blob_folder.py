"""What only a blob folder has: files that somebody else can plant, lock, fill or lose."""

import asyncio
import errno
import os
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from coven.core.errors import CovenError
from coven.store.blobs import (
    BlobCorrupt,
    BlobMissing,
    Blobs,
    BlobsFailed,
    BlobsFull,
    BlobsInUse,
    BlobsReadOnly,
    BlobsUnusable,
    Digest,
    FolderBlobs,
    Limits,
    digest_of,
    open_folder,
)
from coven.store.blobs.disk import Disk
from coven.store.blobs.model import Damaged
from coven.store.blobs.shelves import Shelves
from tests.contracts.blobs_contract import LIMITS, content_of, intact, removed, stored
from tests.eventually import eventually
from tests.store.disks import CountingDisk, FailingDisk, GatedDisk

LOOSE = content_of(100)
PLACE = digest_of(LOOSE)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[FolderBlobs]:
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    yield blobs
    await blobs.close()


def place_of(folder: Path, digest: Digest = PLACE) -> Path:
    return folder / "blobs" / "loose" / digest[:2] / digest


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.chmod(0o600)
    path.write_bytes(content)


async def batch(blobs: Blobs, count: int) -> list[Digest]:
    async with blobs.hold() as hold:
        return await blobs.put_many([b"%d" % n for n in range(count)], hold=hold)


async def test_a_link_in_the_place_of_a_blob_is_never_followed(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    await stored(opened, LOOSE)
    elsewhere = tmp_path / "elsewhere"
    place_of(tmp_path).rename(elsewhere)
    before = elsewhere.read_bytes()
    place_of(tmp_path).symlink_to(elsewhere)
    with pytest.raises(BlobCorrupt, match="not a plain file"):
        await opened.get(PLACE)
    await stored(opened, LOOSE)
    assert not place_of(tmp_path).is_symlink()
    assert elsewhere.read_bytes() == before
    assert await opened.get(PLACE) == LOOSE


async def test_a_link_in_the_place_of_a_shelf_leads_nowhere(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / PLACE).write_bytes(b"not yours to delete")
    place_of(tmp_path).parent.symlink_to(outside)
    for asking in (stored(opened, LOOSE), removed(opened, PLACE), opened.list()):
        with pytest.raises(BlobsUnusable):
            await asking
    with pytest.raises(BlobCorrupt, match=f"loose/{PLACE[:2]} is not a folder of ours"):
        await opened.get(PLACE)
    assert [path.name for path in outside.iterdir()] == [PLACE]
    assert not await intact(opened)


@pytest.mark.parametrize("name", ["drafts", "loose", "packs", "format", "lock"])
async def test_a_link_in_the_place_of_our_own_parts_refuses_the_folder(
    name: str, tmp_path: Path
) -> None:
    await (await open_folder(tmp_path / "blobs")).close()
    part = tmp_path / "blobs" / name
    part.rename(tmp_path / "elsewhere")
    part.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BlobsUnusable):
        await open_folder(tmp_path / "blobs")


async def test_a_pipe_or_a_folder_in_the_place_of_a_blob_does_not_hang(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    await stored(opened, LOOSE)
    place_of(tmp_path).unlink()
    os.mkfifo(place_of(tmp_path))
    with pytest.raises(BlobCorrupt):
        await opened.get(PLACE)
    assert await stored(opened, LOOSE) == [PLACE]
    place_of(tmp_path).unlink()
    place_of(tmp_path).mkdir()
    with pytest.raises(BlobCorrupt):
        await opened.get(PLACE)
    with pytest.raises(BlobsUnusable):
        await stored(opened, LOOSE)


async def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    (tmp_path / "drafts" / "novel.txt").write_text("chapter one")
    (tmp_path / "photos").mkdir()
    with pytest.raises(BlobsUnusable, match="'photos'"):
        await open_folder(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["drafts", "novel.txt", "photos"]


async def test_a_newer_layout_is_refused_by_its_name(tmp_path: Path) -> None:
    await (await open_folder(tmp_path / "blobs")).close()
    (tmp_path / "blobs" / "format").chmod(0o600)
    (tmp_path / "blobs" / "format").write_text("coven blobs 2\n")
    with pytest.raises(BlobsUnusable, match="coven blobs 2"):
        await open_folder(tmp_path / "blobs")


async def test_a_second_opener_is_told_who_has_the_folder(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    with pytest.raises(BlobsInUse, match=f"process {os.getpid()}"):
        await open_folder(tmp_path / "blobs")
    await opened.close()
    await (await open_folder(tmp_path / "blobs")).close()


async def test_drafts_of_an_earlier_life_are_swept_and_nothing_else(tmp_path: Path) -> None:
    await (await open_folder(tmp_path / "blobs")).close()
    drafts = tmp_path / "blobs" / "drafts"
    (drafts / "0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e").write_bytes(b"half a blob")
    (drafts / "novel.txt").write_bytes(b"chapter one")
    await (await open_folder(tmp_path / "blobs")).close()
    assert [path.name for path in drafts.iterdir()] == ["novel.txt"]


async def test_files_that_are_not_ours_are_told_and_left_alone(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    await stored(opened, LOOSE)
    for name in ("notes", "loose/notes", f"loose/{PLACE[:2]}/notes", "packs/notes"):
        (tmp_path / "blobs" / name).write_text("mine")
    told = {damage.where async for damage in opened.verify()}
    assert told == {"notes", "loose/notes", f"loose/{PLACE[:2]}/notes", "packs/notes"}
    assert await opened.list() == [PLACE]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errno.ENOSPC, BlobsFull),
        (errno.EDQUOT, BlobsFull),
        (errno.EROFS, BlobsReadOnly),
        (errno.EACCES, BlobsReadOnly),
        (errno.EIO, BlobsFailed),
    ],
)
async def test_a_disk_that_refuses_is_told_with_a_remedy_and_nothing_counts(
    error: int, told: type[CovenError], tmp_path: Path
) -> None:
    disk = FailingDisk()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=disk)
    [kept] = await stored(blobs, b"kept")
    disk.error = error
    for putting in (stored(blobs, LOOSE), batch(blobs, 20)):
        with pytest.raises(told) as refused:
            await putting
        assert str(tmp_path) in refused.value.message
    assert await blobs.list() == [kept]
    disk.error = None
    assert await stored(blobs, LOOSE) == [PLACE]
    await batch(blobs, 20)
    assert await intact(blobs)
    await blobs.close()


async def test_a_disk_that_fills_up_in_the_middle_leaves_no_drafts(tmp_path: Path) -> None:
    disk = FailingDisk()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=disk)
    packed = await batch(blobs, 40)
    for left in range(0, 700, 50):
        for putting in (stored(blobs, content_of(700)), batch(blobs, 90)):
            disk.bytes_left = left
            with pytest.raises(BlobsFull):
                await putting
    disk.bytes_left = 0
    # Rewriting a pack needs room; taking a whole one away must not.
    assert await removed(blobs, *packed) == set(packed)
    disk.bytes_left = None
    assert await blobs.list() == []
    await blobs.close()
    assert list((tmp_path / "blobs" / "drafts").iterdir()) == []


async def test_a_folder_that_may_not_be_written_is_refused_with_its_name() -> None:
    # The kernel lets nobody make a folder there, not even root.
    with pytest.raises(BlobsReadOnly, match="/sys/kernel/blobs"):
        await open_folder(Path("/sys/kernel/blobs"))


async def test_a_batch_of_any_length_waits_for_the_disk_once(tmp_path: Path) -> None:
    disk = CountingDisk()
    blobs = await open_folder(tmp_path / "blobs", disk=disk)
    for count in (2, 2000):
        disk.synced.clear()
        await batch(blobs, count)
        assert disk.synced == {"file": 1, "folder": 1}
    disk.synced.clear()
    await batch(blobs, 2000)
    assert disk.synced == {}, "nothing is new, so nothing has to be waited for"
    await blobs.close()


async def test_a_put_that_meets_a_deletion_waits_and_stores_the_blob_anew(tmp_path: Path) -> None:
    disk = GatedDisk()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=disk)
    await stored(blobs, LOOSE, b"other")
    disk.stop_at = "unlink loose"
    deleting = asyncio.create_task(removed(blobs, PLACE))
    await eventually(disk.reached.is_set)
    putting = [asyncio.create_task(stored(blobs, LOOSE)) for _ in range(2)]
    assert await blobs.get(digest_of(b"other")) == b"other", "nobody else has to wait"
    assert not any(task.done() for task in putting)
    disk.gate.set()
    assert await deleting == {PLACE}
    assert [await task for task in putting] == [[PLACE], [PLACE]]
    assert await blobs.get(PLACE) == LOOSE
    await blobs.close()


async def test_a_put_does_not_rely_on_a_name_that_is_not_on_disk_yet(tmp_path: Path) -> None:
    disk = GatedDisk()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=disk)
    disk.stop_at = "sync loose"
    first = asyncio.create_task(stored(blobs, LOOSE))
    await eventually(disk.reached.is_set)
    assert await blobs.has(PLACE), "the first put has given the name, and waits for the disk"
    disk.passed.clear()
    await stored(blobs, LOOSE)
    assert disk.passed == ["sync loose"], "the second has seen to it itself"
    assert not first.done()
    disk.passed.clear()
    await stored(blobs, LOOSE)
    assert disk.passed == [], "now it is on disk for everybody"
    disk.gate.set()
    await first
    await blobs.close()


async def test_a_range_is_checked_without_reading_the_rest(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    content = content_of(1000)
    [digest] = await stored(opened, content)
    flip(place_of(tmp_path, digest), 500)
    assert await opened.get_range(digest, offset=10, length=300) == content[10:310]
    with pytest.raises(BlobCorrupt):
        await opened.get_range(digest, offset=440, length=100)


async def test_every_part_of_a_file_is_guarded(opened: FolderBlobs, tmp_path: Path) -> None:
    content = content_of(150)
    [digest] = await stored(opened, content)
    path = place_of(tmp_path, digest)
    for at in range(0, path.stat().st_size, 3):
        flip(path, at)
        with pytest.raises(BlobCorrupt):
            await opened.get_range(digest, offset=0, length=150)
        flip(path, at)
    assert await opened.get(digest) == content


async def test_a_file_cut_short_or_grown_is_refused(opened: FolderBlobs, tmp_path: Path) -> None:
    [digest] = await stored(opened, content_of(150))
    path = place_of(tmp_path, digest)
    whole = path.read_bytes()
    path.chmod(0o600)
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(BlobCorrupt):
            await opened.get(digest)
    path.write_bytes(whole + b"\0")
    with pytest.raises(BlobCorrupt):
        await opened.get(digest)


async def test_a_file_under_the_name_of_another_is_refused(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    one, two = await stored(opened, content_of(150), content_of(151))
    place_of(tmp_path, one).write_bytes(place_of(tmp_path, two).read_bytes())
    for reading in (opened.get(one), opened.get_range(one, offset=0, length=1), opened.size(one)):
        with pytest.raises(BlobCorrupt):
            await reading


async def test_a_pack_whose_index_is_damaged_is_told_and_named(tmp_path: Path) -> None:
    blobs = await open_folder(tmp_path / "blobs")
    digests = await batch(blobs, 3)
    await blobs.close()
    [pack] = (tmp_path / "blobs" / "packs").iterdir()
    flip(pack, pack.stat().st_size - 60)
    blobs = await open_folder(tmp_path / "blobs")
    with pytest.raises(BlobMissing, match=pack.name):
        await blobs.get(digests[0])
    assert [damage.where async for damage in blobs.verify()] == [f"packs/{pack.name}"]
    assert await batch(blobs, 3) == digests
    assert await blobs.get(digests[0]) == b"0"
    await blobs.close()


async def test_compacting_turns_many_small_files_into_few(tmp_path: Path) -> None:
    opened = await open_folder(tmp_path / "blobs", limits=Limits(packed_bytes_max=48))
    await stored(opened, *(b"%d" % n for n in range(30)), LOOSE)
    assert await opened.compact() == 0, "not worth the trouble yet"
    for count in range(35, 80, 5):
        await batch(opened, count)
    await stored(opened, *(b"%d more" % n for n in range(40)))
    assert await opened.compact() == 30 + 45 + 40
    loose = [path for path in (tmp_path / "blobs" / "loose").rglob("*") if path.is_file()]
    assert loose == [place_of(tmp_path)]
    assert len(list((tmp_path / "blobs" / "packs").iterdir())) == 1
    assert await opened.compact() == 0
    assert await intact(opened)
    await opened.close()


async def test_a_blob_on_the_move_is_in_its_pack_before_its_file_goes(tmp_path: Path) -> None:
    disk = GatedDisk()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS, disk=disk)
    digests = await stored(blobs, *(b"%d" % n for n in range(5)))
    disk.stop_at = "unlink loose"
    compacting = asyncio.create_task(blobs.compact())
    await eventually(disk.reached.is_set)
    assert len(list((tmp_path / "blobs" / "packs").iterdir())) == 1
    assert {digest_of(await blobs.get(digest)) for digest in digests} == set(digests)
    disk.gate.set()
    assert await compacting == 5
    await blobs.close()


async def twice(folder: Path) -> tuple[Digest, Path]:
    """A folder with two packs of the same three blobs, as a crash while rewriting leaves it."""
    blobs = await open_folder(folder / "blobs", limits=LIMITS)
    digests = await batch(blobs, 3)
    await blobs.close()
    [pack] = (folder / "blobs" / "packs").iterdir()
    second = pack.with_name("f" + pack.name[1:])
    second.write_bytes(pack.read_bytes())
    return digests[0], second


async def test_a_read_looks_again_when_its_pack_was_replaced_meanwhile(tmp_path: Path) -> None:
    digest, _ = await twice(tmp_path)

    def look() -> list[object]:
        shelves = Shelves(tmp_path / "blobs", Disk(), LIMITS)
        readers = shelves.readers(digest)
        first = next(readers)
        with shelves.moving:
            shelves.drop({shelves.packs[1]: [digest_of(b"1")]})
        found = [first, *readers]
        shelves.close()
        return found

    found = await asyncio.to_thread(look)
    assert len(found) >= 3
    assert not any(isinstance(reader, Damaged) for reader in found)


async def test_a_copy_too_many_does_no_harm_and_is_deleted_as_well(tmp_path: Path) -> None:
    digest, _ = await twice(tmp_path)
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    assert len(await blobs.list()) == 3
    await removed(blobs, digest)
    await blobs.close()
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    assert not await blobs.has(digest)
    await blobs.close()


async def test_one_damaged_copy_of_two_is_told_read_around_and_repaired(tmp_path: Path) -> None:
    digest, second = await twice(tmp_path)
    flip(second, 8)
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    assert await blobs.get(digest) == b"0"
    assert not await intact(blobs)
    assert await stored(blobs, b"0") == [digest]
    assert await intact(blobs)
    assert await blobs.get(digest) == b"0"
    await blobs.close()


async def test_compacting_leaves_damage_where_it_is(tmp_path: Path) -> None:
    digest, second = await twice(tmp_path)
    flip(second, 8)
    blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
    await stored(blobs, b"another")
    assert await blobs.compact() == 4
    assert [damage.digest async for damage in blobs.verify()] == [digest]
    assert second.exists()
    await blobs.close()


async def test_a_put_that_is_cancelled_leaves_nothing_behind(
    opened: FolderBlobs, tmp_path: Path
) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield content_of(1000)
        begun.set()
        await asyncio.Event().wait()

    async with opened.hold() as hold:
        task = asyncio.create_task(opened.put(endless(), hold=hold))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await eventually(lambda: not list((tmp_path / "blobs" / "drafts").iterdir()))
    assert await opened.list() == []


async def test_opening_that_is_cancelled_does_not_leave_the_folder_locked(tmp_path: Path) -> None:
    task = asyncio.create_task(open_folder(tmp_path / "blobs"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async def opens() -> FolderBlobs | None:
        try:
            return await open_folder(tmp_path / "blobs")
        except BlobsInUse:
            return None

    await (await eventually(opens)).close()


async def test_a_stream_larger_than_memory_would_do_needs_little_of_it(tmp_path: Path) -> None:
    blobs = await open_folder(tmp_path / "blobs", limits=Limits(whole_bytes_max=1 << 20))
    piece = bytes(range(256)) * 1024

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(128):
            yield piece

    tracemalloc.start()
    async with blobs.hold() as hold:
        digest = await blobs.put(pieces(), hold=hold)
    total = 0
    async for part in blobs.stream(digest):
        total += len(part)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == len(piece) * 128 == 32 << 20
    assert peak_bytes < 12 << 20
    await blobs.close()


async def test_the_event_loop_is_never_blocked(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(LOOSE)
    with blockbuster_ctx():
        blobs = await open_folder(tmp_path / "blobs", limits=LIMITS)
        async with blobs.hold() as hold:
            await blobs.put(tmp_path / "content", hold=hold)
        digests = await batch(blobs, 30)
        assert await blobs.get(digests[0]) == b"0"
        assert await intact(blobs)
        await removed(blobs, *digests)
        await blobs.compact()
        await blobs.close()
