"""A machine that uses a blob folder in any order it likes, beside a model that is a few sets."""

import asyncio
import os
import shutil
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from coven.store.blobs import Digest, FolderBlobs, Hold, Limits, Sentence, digest_of, open_folder

pytestmark = pytest.mark.timeout(900)

PROVE = os.environ.get("COVEN_PROVE") == "1"
LIMITS = Limits(block_bytes=16, packed_bytes_max=24, pack_bytes_max=200, gather_files_min=3)
# Few different contents, so that the same one is put, condemned, deleted and put again.
CONTENTS = [
    bytes([65 + number]) * size for number, size in enumerate((0, 1, 5, 16, 24, 25, 40, 90))
]
contents = st.sampled_from(CONTENTS)

Holding = tuple[AbstractAsyncContextManager[Hold], Hold]


class BlobFolders(RuleBasedStateMachine):
    """The folder must answer as the model does, whatever came before."""

    holdings = Bundle("holdings")
    sentences = Bundle("sentences")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="coven-blobs-"))
        self.here: set[Digest] = set()
        self.held: dict[str, set[Digest]] = {}
        self.condemned: dict[Digest, str] = {}
        self.blobs: FolderBlobs = self.run(open_folder(self.folder / "blobs", limits=LIMITS))

    def run(self, coroutine):
        return self.loop.run(coroutine)

    @rule(target=holdings)
    def open_a_hold(self) -> Holding:
        context = self.blobs.hold()
        hold = self.run(context.__aenter__())
        self.held[hold.hold_id] = set()
        return context, hold

    @rule(holding=consumes(holdings))
    def let_go(self, holding: Holding) -> None:
        context, hold = holding
        if hold.hold_id in self.held:
            self.run(context.__aexit__(None, None, None))
            del self.held[hold.hold_id]

    @rule(holding=holdings, content=contents)
    def put(self, holding: Holding, content: bytes) -> None:
        _, hold = holding
        if hold.hold_id in self.held:
            digest = self.run(self.blobs.put(content, hold=hold))
            self.claim(hold, digest)
            self.here.add(digest)

    @rule(holding=holdings, batch=st.lists(contents, max_size=8))
    def put_many(self, holding: Holding, batch: list[bytes]) -> None:
        _, hold = holding
        if hold.hold_id in self.held:
            digests = self.run(self.blobs.put_many(batch, hold=hold))
            assert digests == [digest_of(content) for content in batch]
            for digest in digests:
                self.claim(hold, digest)
                self.here.add(digest)

    @rule(holding=holdings, asked=st.sets(contents))
    def ask_what_is_missing(self, holding: Holding, asked: set[bytes]) -> None:
        _, hold = holding
        digests = {digest_of(content) for content in asked}
        if hold.hold_id in self.held:
            assert self.run(self.blobs.missing(digests, hold=hold)) == digests - self.here
            for digest in digests:
                self.claim(hold, digest)

    def claim(self, hold: Hold, digest: Digest) -> None:
        self.held[hold.hold_id].add(digest)
        self.condemned.pop(digest, None)

    @rule(target=sentences, asked=st.sets(contents))
    def condemn(self, asked: set[bytes]) -> Sentence:
        digests = {digest_of(content) for content in asked}
        sentence = self.run(self.blobs.condemn(digests))
        assert sentence.digests == digests.difference(*self.held.values())
        self.condemned.update(dict.fromkeys(sentence.digests, sentence.sentence_id))
        return sentence

    @rule(sentence=sentences, keep=st.sets(contents))
    def delete(self, sentence: Sentence, keep: set[bytes]) -> None:
        kept = {digest_of(content) for content in keep}
        mine = {d for d, by in self.condemned.items() if by == sentence.sentence_id}
        assert self.run(self.blobs.delete(sentence, keep=kept)) == mine - kept
        self.here -= mine - kept
        for digest in mine:
            del self.condemned[digest]

    @rule()
    def compact(self) -> None:
        self.run(self.blobs.compact())

    @rule()
    def reopen(self) -> None:
        self.run(self.blobs.close())
        self.held.clear()
        self.condemned.clear()
        self.blobs = self.run(open_folder(self.folder / "blobs", limits=LIMITS))

    @precondition(lambda self: self.here)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        content = data.draw(st.sampled_from([c for c in CONTENTS if digest_of(c) in self.here]))
        digest = digest_of(content)
        offset = data.draw(st.integers(0, 100))
        length = data.draw(st.integers(0, 100))
        found = self.run(self.blobs.get_range(digest, offset=offset, length=length))
        assert found == content[offset : offset + length]
        assert self.run(self.blobs.size(digest)) == len(content)

    @invariant()
    def answers_as_the_model_does(self) -> None:
        assert self.run(self.blobs.list()) == sorted(self.here)
        for content in CONTENTS:
            digest = digest_of(content)
            assert self.run(self.blobs.has(digest)) == (digest in self.here)
            if digest in self.here:
                assert self.run(self.blobs.get(digest)) == content

    @invariant()
    def nothing_is_damaged_and_nothing_left_over(self) -> None:
        async def look() -> list[object]:
            return [damage async for damage in self.blobs.verify()]

        assert self.run(look()) == []
        # Drafts are taken away by a thread that nobody waits for, so only after a close is it sure.

    def teardown(self) -> None:
        self.run(self.blobs.close())
        assert list((self.folder / "blobs" / "drafts").iterdir()) == []
        self.loop.close()
        shutil.rmtree(self.folder)


test_a_blob_folder_answers_as_its_model_does = BlobFolders.TestCase
test_a_blob_folder_answers_as_its_model_does.settings = settings(
    max_examples=300 if PROVE else 10,
    stateful_step_count=50 if PROVE else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
