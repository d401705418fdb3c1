"""Instants: one fixed text, which sorts as time does, and strict about what it reads."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven.core import clock as clocks
from coven.core.clock import MalformedInstant, SystemClock
from tests.machines import profiles

instants = st.datetimes(timezones=st.just(UTC))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


EARLIEST = datetime(2, 1, 1)  # noqa: DTZ001 - the bounds of a strategy are naive
LATEST = datetime(9998, 1, 1)  # noqa: DTZ001 - the same


@profiles.seeded
@profiles.profile()
@given(first=instants, second=instants)
def test_text_order_is_time_order_and_reading_undoes_writing(first, second):
    texts = clocks.render(first), clocks.render(second)
    assert (texts[0] < texts[1]) == (first < second)
    assert clocks.parse(texts[0]) == first
    assert len(texts[0]) == len("2030-01-31T12:00:00.000000Z")


@profiles.seeded
@profiles.profile()
@given(
    instant=st.datetimes(min_value=EARLIEST, max_value=LATEST),
    zone=zones,
)
def test_any_zone_means_the_same_instant(instant, zone):
    aware = instant.replace(tzinfo=zone)
    text = aware.isoformat(timespec="microseconds")
    assert clocks.parse(text) == aware
    assert clocks.parse(text.replace("+", " ")) == aware
    assert clocks.render(aware) == clocks.render(clocks.parse(text))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000000Z"),
        ("2030-01-31 12:00:00z", "2030-01-31T12:00:00.000000Z"),
        ("2030-01-31t12:00:00.1+01:00", "2030-01-31T11:00:00.100000Z"),
        ("2030-01-31T12:00:00.123456789-0130", "2030-01-31T13:30:00.123456Z"),
        (" 2030-01-31T12:00:00Z\n", "2030-01-31T12:00:00.000000Z"),
    ],
)
def test_the_usual_spellings_are_read(text, meant):
    assert clocks.render(clocks.parse(text)) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "1", "2030", "2030-01-31", "2030-01-31T12:00", "12:00:00Z"),
        *("2030-13-01T00:00:00Z", "2030-02-30T00:00:00Z", "2030-01-31T24:00:00Z"),
        *("2030-01-31T12:00:00", "2030-01-31T12:00:60Z", "2030-01-31T12:00:00.Z"),
        *("2030-01-31T12:00:00.1234567890Z", "٢٠٣٠-01-31T12:00:00Z", "2030-01-31T12:00:00+25:00"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x" * 10_000),
    ],
)
def test_anything_else_is_refused_with_a_short_message(text):
    with pytest.raises(MalformedInstant) as caught:
        clocks.parse(text)
    assert len(caught.value.message) < 200


def test_a_clock_can_be_moved_both_ways_and_its_other_hand_never_jumps():
    clock = SystemClock()
    before, steady = clock.now(), clock.monotonic()
    clock.move(timedelta(days=-3))
    assert timedelta(days=-3) <= clock.now() - before < timedelta(days=-2)
    clock.move(timedelta(days=5))
    assert clock.offset == timedelta(days=2)
    assert 0 <= clock.monotonic() - steady < 3600
    assert clock.now().utcoffset() == timedelta(0)
