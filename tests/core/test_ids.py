"""Ids: unique, sorted by age, and strict about what untrusted text may be."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven.core import ids
from coven.core.ids import MalformedId, MalformedProject
from tests.machines import profiles


def test_ids_are_version_seven_unique_and_in_the_order_of_their_making():
    made = [ids.new() for _ in range(20_000)]
    assert made == sorted(made)
    assert len({each[:15] + each[15:18] for each in made}) == len(made), "by their time alone"
    assert all(each[14] == "7" and each[19] in "89ab" for each in made)
    assert all(ids.parse(each) == each for each in made[:100])


def test_ids_that_several_threads_make_at_once_are_unique():
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(ids.new() for _ in range(5_000)))
        for mine in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each[:18] for mine in made for each in mine}) == 20_000
    assert all(mine == sorted(mine) for mine in made)


@profiles.seeded
@profiles.profile(dev=100)
@given(text=st.one_of(st.text(max_size=40), st.just("0" * 36), st.uuids().map(str)))
def test_only_a_lower_case_uuid_is_an_id(text):
    try:
        assert ids.parse(text) == text
    except MalformedId as error:
        assert error.kind.value == "malformed"  # noqa: PT017 - both ways are right, for other texts
    else:
        assert len(text) == 36
        assert set(text) <= set("0123456789abcdef-")


@pytest.mark.parametrize("text", ["a", "default", "A.b-c_9", "a" * 63, "0"])
def test_a_project_may_be_called(text):
    assert ids.project(text) == text


@pytest.mark.parametrize(
    "text", ["", ".", "-a", "_a", "a" * 64, "a/b", "a b", "ä", "a\n", "a\0", "..", "a|b"]
)
def test_a_project_may_not_be_called(text):
    with pytest.raises(MalformedProject):
        ids.project(text)
