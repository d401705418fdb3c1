"""The conformance suite of `Blobs`: what every implementation has to show, the fake included.

A clause is a sentence and the code that proves it. An implementation is brought in as a `House`,
which opens the same place again and again and can damage what is stored there.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

import pytest

from coven.store.blobs import (
    BlobCorrupt,
    BlobMissing,
    Blobs,
    BlobsClosed,
    BlobTooLarge,
    Digest,
    HoldEnded,
    InvalidRange,
    Limits,
    MalformedDigest,
    collect,
    digest_of,
)

LIMITS = Limits(
    blob_bytes_max=4096,
    whole_bytes_max=2048,
    block_bytes=64,
    packed_bytes_max=48,
    pack_bytes_max=512,
    gather_files_min=2,
)
SIZES = (0, 1, 47, 48, 49, 63, 64, 65, 127, 128, 129, 1000)
ABSENT = digest_of(b"nobody ever put this")


class House(Protocol):
    """One implementation, at one place, with the limits above."""

    scratch: Path

    async def open(self) -> Blobs:
        """Open the place; also again, after `close`."""
        ...

    def damage(self, digest: Digest) -> None:
        """Change a byte of every copy of a blob, behind the back of whoever has it open."""
        ...


Clause = Callable[[House], Awaitable[None]]
CLAUSES: list[Clause] = []


def clause(function: Clause) -> Clause:
    """Make a function part of the contract."""
    CLAUSES.append(function)
    return function


def content_of(size: int) -> bytes:
    """Some content of a size, different for each size."""
    return bytes((size + index * 7) % 251 for index in range(size))


async def pieces_of(content: bytes, *, size: int = 10) -> AsyncIterator[bytes]:
    for offset in range(0, len(content), size):
        yield content[offset : offset + size]


async def stored(blobs: Blobs, *contents: bytes) -> list[Digest]:
    """Put some contents, one by one."""
    async with blobs.hold() as hold:
        return [await blobs.put(content, hold=hold) for content in contents]


async def removed(blobs: Blobs, *digests: Digest) -> frozenset[Digest]:
    return await blobs.delete(await blobs.condemn(digests))


async def streamed(blobs: Blobs, digest: Digest) -> bytes:
    return b"".join([piece async for piece in blobs.stream(digest)])


async def intact(blobs: Blobs) -> bool:
    return [damage async for damage in blobs.verify()] == []


@clause
async def what_is_put_comes_back_whole_in_ranges_and_as_a_stream(house: House) -> None:
    blobs = await house.open()
    for size in SIZES:
        content = content_of(size)
        [digest] = await stored(blobs, content)
        assert digest == digest_of(content)
        assert await blobs.has(digest)
        assert await blobs.size(digest) == size
        assert await blobs.get(digest) == content
        assert await streamed(blobs, digest) == content
        for offset, length in ((0, size), (1, 62), (63, 2), (size - 1, 9), (size, 1), (9999, 1)):
            if offset >= 0:
                found = await blobs.get_range(digest, offset=offset, length=length)
                assert found == content[offset : offset + length]
    assert await intact(blobs)
    await blobs.close()


@clause
async def a_batch_comes_back_in_its_own_order_with_its_doubles(house: House) -> None:
    blobs = await house.open()
    contents = [content_of(size) for size in (*SIZES, 5, 1, 5, 700, 64)]
    async with blobs.hold() as hold:
        digests = await blobs.put_many(contents, hold=hold)
        assert await blobs.put_many([], hold=hold) == []
        again = await blobs.put_many((content async for content in _each(contents)), hold=hold)
    assert digests == again == [digest_of(content) for content in contents]
    assert [await blobs.get(digest) for digest in digests] == contents
    assert await blobs.list() == sorted(set(digests))
    await blobs.close()


@clause
async def content_may_be_a_file_or_a_stream(house: House) -> None:
    blobs = await house.open()
    content = content_of(1000)
    path = house.scratch / "content"
    path.write_bytes(content)
    async with blobs.hold() as hold:
        digests = {
            await blobs.put(path, hold=hold),
            await blobs.put(io.BytesIO(content), hold=hold),
            await blobs.put(pieces_of(content), hold=hold),
            await blobs.put(pieces_of(content, size=777), hold=hold),
        }
        empty = await blobs.put(pieces_of(b""), hold=hold)
    assert digests == {digest_of(content)}
    assert await blobs.get(empty) == b""
    await blobs.close()


@clause
async def a_link_or_a_pipe_is_not_taken_for_a_file(house: House) -> None:
    blobs = await house.open()
    (house.scratch / "real").write_bytes(b"secret")
    (house.scratch / "link").symlink_to(house.scratch / "real")
    async with blobs.hold() as hold:
        for path in (house.scratch / "link", house.scratch, Path("/dev/zero")):
            with pytest.raises(OSError, match=r".") as refused:
                await blobs.put(path, hold=hold)
            assert not isinstance(refused.value, FileNotFoundError)
        with pytest.raises(FileNotFoundError):
            await blobs.put(house.scratch / "nowhere", hold=hold)
    assert await blobs.list() == []
    await blobs.close()


@clause
async def a_source_that_fails_stores_nothing(house: House) -> None:
    blobs = await house.open()

    async def failing() -> AsyncIterator[bytes]:
        yield content_of(100)
        raise LookupError("the source broke off")

    async with blobs.hold() as hold:
        with pytest.raises(LookupError):
            await blobs.put(failing(), hold=hold)
        with pytest.raises(LookupError):
            await blobs.put_many(failing(), hold=hold)
    assert await blobs.list() == []
    await blobs.close()


@clause
async def what_is_too_large_is_refused_by_name(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as hold:
        for content in (content_of(4097), pieces_of(content_of(4097))):
            with pytest.raises(BlobTooLarge):
                await blobs.put(content, hold=hold)
        [digest] = await stored(blobs, content_of(3000))
    for reading in (blobs.get(digest), blobs.get_range(digest, offset=0, length=2049)):
        with pytest.raises(BlobTooLarge):
            await reading
    assert await streamed(blobs, digest) == content_of(3000)
    assert len(await blobs.get_range(digest, offset=2000, length=2048)) == 1000
    assert await blobs.list() == [digest]
    await blobs.close()


@clause
async def what_is_not_there_is_missing_everywhere(house: House) -> None:
    blobs = await house.open()
    assert not await blobs.has(ABSENT)
    for reading in (
        blobs.get(ABSENT),
        blobs.size(ABSENT),
        blobs.get_range(ABSENT, offset=0, length=1),
        streamed(blobs, ABSENT),
    ):
        with pytest.raises(BlobMissing):
            await reading
    assert await removed(blobs, ABSENT) == {ABSENT}
    await blobs.close()


@clause
async def only_a_digest_is_taken_for_a_digest(house: House) -> None:
    blobs = await house.open()
    for text in ("", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "0" * 63 + "\n", "é" * 64):
        made_up = Digest(text)
        for asking in (
            blobs.has(made_up),
            blobs.get(made_up),
            blobs.size(made_up),
            blobs.get_range(made_up, offset=0, length=1),
            streamed(blobs, made_up),
            blobs.list(after=made_up),
            blobs.condemn([made_up]),
        ):
            with pytest.raises(MalformedDigest):
                await asking
    await blobs.close()


@clause
async def a_range_that_means_nothing_is_refused(house: House) -> None:
    blobs = await house.open()
    [digest] = await stored(blobs, b"x")
    for offset, length in ((-1, 1), (0, -1)):
        with pytest.raises(InvalidRange):
            await blobs.get_range(digest, offset=offset, length=length)
    assert await blobs.get_range(digest, offset=0, length=0) == b""
    await blobs.close()


@clause
async def putting_the_same_again_is_the_same_blob(house: House) -> None:
    blobs = await house.open()
    content = content_of(100)
    first, second = await stored(blobs, content, content)
    async with blobs.hold() as hold:
        same = await asyncio.gather(*(blobs.put(content, hold=hold) for _ in range(8)))
    assert {first, second, *same} == {digest_of(content)}
    assert await blobs.list() == [first]
    await blobs.close()


@clause
async def the_list_is_complete_ascending_and_cut_into_pages(house: House) -> None:
    blobs = await house.open()
    assert await blobs.list() == []
    async with blobs.hold() as hold:
        digests = await blobs.put_many([bytes([n]) for n in range(60)], hold=hold)
    digests += await stored(blobs, *(bytes([n]) * 2 for n in range(60)))
    found: list[Digest] = []
    while page := await blobs.list(after=found[-1] if found else None, limit=7):
        assert len(page) <= 7
        found += page
    assert found == sorted(digests)
    await blobs.close()


@clause
async def deleted_means_gone_and_a_put_brings_it_back(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as hold:
        packed = await blobs.put_many([content_of(n) for n in range(20)], hold=hold)
    loose = await stored(blobs, content_of(100), content_of(30))
    gone = await removed(blobs, packed[3], packed[4], loose[0])
    assert gone == {packed[3], packed[4], loose[0]}
    assert await blobs.list() == sorted({*packed, *loose} - gone)
    with pytest.raises(BlobMissing):
        await blobs.get(packed[3])
    assert await stored(blobs, content_of(3)) == [packed[3]]
    assert await blobs.get(packed[3]) == content_of(3)
    assert await intact(blobs)
    await blobs.close()


@clause
async def a_sentence_takes_nothing_twice(house: House) -> None:
    blobs = await house.open()
    [digest] = await stored(blobs, b"content")
    sentence = await blobs.condemn([digest])
    assert await blobs.delete(sentence) == {digest}
    await stored(blobs, b"content")
    assert await blobs.delete(sentence) == frozenset()
    assert await blobs.has(digest)
    await blobs.close()


@clause
async def what_is_held_cannot_be_condemned(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as outer:
        digest = await blobs.put(b"content", hold=outer)
        async with blobs.hold() as inner:
            assert await blobs.missing([digest, ABSENT], hold=inner) == {ABSENT}
        assert (await blobs.condemn([digest])).digests == frozenset()
    sentence = await blobs.condemn([digest])
    assert sentence.digests == {digest}
    assert await blobs.delete(sentence) == {digest}
    await blobs.close()


@clause
async def what_is_put_or_asked_for_is_pardoned(house: House) -> None:
    blobs = await house.open()
    digests = await stored(blobs, *(content_of(n) for n in range(5)))
    sentence = await blobs.condemn(digests)
    async with blobs.hold() as hold:
        await blobs.put(content_of(0), hold=hold)
        await blobs.put_many([content_of(1)], hold=hold)
        await blobs.put(pieces_of(content_of(2)), hold=hold)
        await blobs.missing([digests[3]], hold=hold)
    assert await blobs.delete(sentence) == {digests[4]}
    assert await blobs.list() == sorted(digests[:4])
    await blobs.close()


@clause
async def what_rows_name_is_kept_and_a_later_sentence_replaces_an_earlier(house: House) -> None:
    blobs = await house.open()
    named, unnamed, other = await stored(blobs, b"a", b"b", b"c")
    earlier = await blobs.condemn([named, unnamed, other])
    later = await blobs.condemn([named, unnamed])
    assert await blobs.delete(earlier) == {other}
    assert await blobs.delete(later, keep=[named]) == {unnamed}
    assert await blobs.delete(later) == frozenset()
    assert await blobs.list() == [named]
    await blobs.close()


@clause
async def collecting_spares_what_is_put_and_committed_meanwhile(house: House) -> None:
    blobs = await house.open()
    rows = set(await stored(blobs, b"named"))
    await stored(blobs, b"nobody's", b"reused")

    async def used(asked: frozenset[Digest]) -> set[Digest]:
        # The worst moment: after the rows were read, another use case stores the same content.
        found = rows & asked
        async with blobs.hold() as hold:
            rows.add(await blobs.put(b"reused", hold=hold))
        return found

    collected = await collect(blobs, used)
    assert (collected.seen, collected.deleted) == (3, 1)
    assert set(await blobs.list()) == rows == {digest_of(b"named"), digest_of(b"reused")}
    await blobs.close()


@clause
async def a_hold_that_has_ended_protects_nothing_and_says_so(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as hold:
        pass
    for putting in (
        blobs.put(b"late", hold=hold),
        blobs.put(pieces_of(b"late"), hold=hold),
        blobs.put_many([b"late"], hold=hold),
        blobs.missing([ABSENT], hold=hold),
    ):
        with pytest.raises(HoldEnded):
            await putting
    assert await blobs.list() == []
    await blobs.close()


@clause
async def a_hold_ends_also_when_its_use_case_fails_or_is_cancelled(house: House) -> None:
    blobs = await house.open()
    held = asyncio.Event()

    async def use_case() -> None:
        async with blobs.hold() as hold:
            await blobs.put(b"content", hold=hold)
            held.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(use_case())
    await held.wait()
    assert (await blobs.condemn([digest_of(b"content")])).digests == frozenset()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await blobs.condemn([digest_of(b"content")])).digests == {digest_of(b"content")}
    await blobs.close()


@clause
async def damage_is_refused_told_and_repaired_by_a_put(house: House) -> None:
    blobs = await house.open()
    large, small = await stored(blobs, content_of(200), content_of(20))
    async with blobs.hold() as hold:
        packed, sound = await blobs.put_many([content_of(21), content_of(22)], hold=hold)
    for digest in (large, small, packed):
        house.damage(digest)
        for reading in (
            blobs.get(digest),
            streamed(blobs, digest),
            blobs.get_range(digest, offset=0, length=20),
        ):
            with pytest.raises(BlobCorrupt):
                await reading
    told = {damage.digest async for damage in blobs.verify()}
    assert told == {large, small, packed}
    await stored(blobs, content_of(200), content_of(20), content_of(21))
    assert await intact(blobs)
    async with blobs.hold() as hold:
        [packed] = await blobs.put_many([content_of(23)], hold=hold)
        house.damage(packed)
        await blobs.put_many([content_of(n) for n in (22, 23, 200)], hold=hold)
    assert await intact(blobs)
    assert await blobs.get(packed) == content_of(23)
    [packed] = await stored(blobs, content_of(21))
    assert await blobs.get(packed) == content_of(21)
    assert await blobs.get(sound) == content_of(22)
    await blobs.close()


@clause
async def everything_is_found_again_after_a_restart(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as hold:
        digests = await blobs.put_many([content_of(n) for n in range(30)], hold=hold)
    digests += await stored(blobs, *(content_of(size) for size in (100, 500)))
    await removed(blobs, digests[0], digests[-1])
    sentence = await blobs.condemn(digests)
    await blobs.close()
    blobs = await house.open()
    assert await blobs.list() == sorted(digests[1:-1])
    assert await blobs.delete(sentence) == frozenset(), "a sentence does not outlive its process"
    assert await blobs.get(digests[-2]) == content_of(100)
    assert await intact(blobs)
    await blobs.close()


@clause
async def compacting_changes_nothing_that_can_be_read(house: House) -> None:
    blobs = await house.open()
    digests = await stored(blobs, *(content_of(size) for size in (*SIZES, 10, 20, 30)))
    async with blobs.hold() as hold:
        digests += await blobs.put_many([content_of(n) for n in range(2, 9)], hold=hold)
    before = await blobs.list()
    await blobs.compact()
    assert await blobs.list() == before == sorted(set(digests))
    assert {digest_of(await blobs.get(digest)) for digest in digests} == set(digests)
    assert await intact(blobs)
    await removed(blobs, *before)
    await blobs.compact()
    assert await blobs.list() == []
    await blobs.close()


@clause
async def a_stream_that_has_begun_survives_a_deletion(house: House) -> None:
    blobs = await house.open()
    [digest] = await stored(blobs, content_of(300))
    async with aclosing(blobs.stream(digest)) as stream:
        found = await anext(stream)
        await removed(blobs, digest)
        assert not await blobs.has(digest)
        found += b"".join([piece async for piece in stream])
    assert found == content_of(300)
    await blobs.close()


@clause
async def a_stream_may_be_left_early(house: House) -> None:
    blobs = await house.open()
    [digest] = await stored(blobs, content_of(300))
    async with aclosing(blobs.stream(digest)) as stream:
        assert await anext(stream) == content_of(300)[:64]
    assert await blobs.get(digest) == content_of(300)
    await blobs.close()


@clause
async def once_closed_everything_is_refused(house: House) -> None:
    blobs = await house.open()
    async with blobs.hold() as hold:
        [digest] = await blobs.put_many([b"content"], hold=hold)
        sentence = await blobs.condemn([])
        await blobs.close()
        await blobs.close()
        for asking in (
            blobs.put(b"content", hold=hold),
            blobs.put_many([b"content"], hold=hold),
            blobs.missing([digest], hold=hold),
            blobs.has(digest),
            blobs.get(digest),
            streamed(blobs, digest),
            blobs.list(),
            blobs.condemn([digest]),
            blobs.delete(sentence),
            blobs.compact(),
            intact(blobs),
        ):
            with pytest.raises(BlobsClosed):
                await asking
    with pytest.raises(BlobsClosed):
        await blobs.hold().__aenter__()


async def _each(contents: list[bytes]) -> AsyncIterator[bytes]:
    for content in contents:
        yield content
