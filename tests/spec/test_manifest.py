"""The manifest holds both ways: no promise without its test, no test without its promise."""

from collections import Counter

from tests.spec.manifest import proofs, proved_by
from tests.spec.requirements import EVERY, PROVED, runs, sessions, store, teams, workspaces

COUNTS = {workspaces: 57, sessions: 34, runs: 49, store: 52, teams: 30}
WORDS_MIN = 5


def test_every_promise_of_the_specification_is_listed_once():
    """Promise: the manifest is the whole specification, with no id used twice."""
    for room, count in COUNTS.items():
        numbers = [int(promise.id.partition("-")[2]) for promise in room.PROMISES]
        assert numbers == list(range(1, count + 1)), room.__name__
    assert len(EVERY) == sum(COUNTS.values())


def test_every_test_of_the_specification_names_its_promises():
    """Promise: a test under `tests/spec` says which promises it proves, and they exist."""
    nameless = [str(proof) for proof in proofs() if not proof.requirements]
    unknown = {
        str(proof): wrong
        for proof in proofs()
        if (wrong := [id for id in proof.requirements if id not in EVERY])
    }
    assert not nameless
    assert not unknown


def test_every_test_of_the_specification_reads_as_a_sentence():
    """Promise: its name says what holds, and its docstring says whose promise it is."""
    short = [
        str(proof)
        for proof in proofs()
        if len(proof.name.removeprefix("test_").split("_")) < WORDS_MIN
    ]
    mute = [str(proof) for proof in proofs() if not proof.docstring]
    assert not short
    assert not mute


def test_every_promise_called_proved_has_a_test():
    """Promise: what was delivered once stays proved."""
    assert not [id for id in PROVED if id not in EVERY]
    assert not [id for id, count in Counter(PROVED).items() if count > 1]
    assert not [id for id in PROVED if id not in proved_by()]


def test_every_promise_with_a_test_is_called_proved():
    """Promise: a promise that has its test is written into the list of the delivered ones."""
    assert sorted(set(proved_by()) - set(PROVED)) == []
