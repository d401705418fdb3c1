"""Pages: every row once and in order, whatever comes or goes; cursors that mean one list only."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven.core import ids, pages
from coven.core.pages import MalformedCursor, PageRequest
from tests.machines import profiles

Key = tuple[int, str]


def asked(cursor: str | None, limit: int, **filters: Any) -> PageRequest:
    return pages.request("things", key=(int, str), cursor=cursor, limit=limit, **filters)


def fetched(rows: set[Key], request: PageRequest) -> list[Key]:
    """What a room's SQL does."""
    return sorted(row for row in rows if request.after is None or row > request.after)[
        : request.fetch
    ]


keys = st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=5))


@profiles.seeded
@profiles.profile(dev=100)
@given(rows=st.sets(keys, max_size=30), limit=st.integers(1, 10), data=st.data())
def test_a_walk_sees_every_row_that_stays_once_and_in_order(rows, limit, data):
    seen: list[Key] = []
    cursor, present, gone = None, set(rows), set[Key]()
    while True:
        request = asked(cursor, limit, kind="x")
        page = pages.cut(request, fetched(present, request), key=lambda row: row)
        assert len(page.items) <= limit
        seen += page.items
        if not page.has_more:
            assert page.next_cursor is None
            break
        cursor = page.next_cursor
        if data.draw(st.booleans()) and present:
            row = data.draw(st.sampled_from(sorted(present)))
            present.discard(row)
            gone.add(row)
        present.add(data.draw(keys))
    assert seen == sorted(set(seen))
    assert rows - gone <= set(seen)


def test_a_page_ends_early_where_it_would_grow_too_heavy_but_never_stays_empty():
    request = asked(None, 10)
    heavy = [(number, "x") for number in range(5)]
    page = pages.cut(request, heavy, key=lambda row: row, size=lambda row: 100_000)
    assert (len(page.items), page.has_more) == (2, True)
    page = pages.cut(request, heavy, key=lambda row: row, size=lambda row: 10**9)
    assert (len(page.items), page.has_more) == (1, True)


def test_a_cursor_belongs_to_its_list_and_its_filters():
    request = asked(None, 1, kind="x")
    cursor = pages.cut(request, [(1, "a"), (2, "b")], key=lambda row: row).next_cursor
    assert cursor
    assert asked(cursor, 5, kind="x").after == (1, "a")
    assert asked(cursor, 5, kind="x", other=None).after == (1, "a")
    for wrong in ({"kind": "y"}, {}, {"kind": "x", "more": 1}):
        with pytest.raises(MalformedCursor):
            asked(cursor, 5, **wrong)
    with pytest.raises(MalformedCursor):
        pages.request("others", key=(int, str), cursor=cursor, kind="x")


def forged(*body: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")


@profiles.seeded
@profiles.profile(dev=200)
@given(text=st.one_of(st.text(min_size=1), st.binary(min_size=1).map(
    lambda raw: base64.urlsafe_b64encode(raw).decode())))  # fmt: skip
def test_no_text_that_was_made_up_is_taken_for_a_cursor(text):
    with pytest.raises(MalformedCursor):
        asked(text, 10)


@pytest.mark.parametrize(
    "key", [(), (1,), ("1", "a"), (1, 2), (1, "a", "b"), (None, "a"), (True, "a"), (1.5, "a"),
            ([], "a"), ({}, "a")],
)  # fmt: skip
def test_a_cursor_whose_key_has_another_shape_is_refused(key):
    checksum = pages._checksum(())
    with pytest.raises(MalformedCursor):
        asked(forged(1, "things", checksum, *key), 10)


def test_each_part_of_a_key_is_checked_as_what_it_should_be():
    checksum = pages._checksum(())
    with pytest.raises(MalformedCursor):
        pages.request("things", key=(ids.parse,), cursor=forged(1, "things", checksum, "no id"))
