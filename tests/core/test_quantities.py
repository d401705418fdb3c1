"""Quantities: read strictly, written the shortest way, and the same after both."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven.core import quantities
from coven.core.quantities import MalformedQuantity
from tests.machines import profiles


@profiles.seeded
@profiles.profile(dev=100)
@given(count=st.integers(0, 10**12 - 1), power=st.integers(0, 3))
def test_a_size_survives_being_written(count, power):
    size = count * 1024**power if count < 10**6 else count
    assert quantities.parse_bytes(quantities.render_bytes(size)) == size


@profiles.seeded
@profiles.profile(dev=100)
@given(milliseconds=st.integers(0, 10**14))
def test_a_duration_survives_being_written(milliseconds):
    duration = timedelta(milliseconds=milliseconds)
    assert quantities.parse_duration(quantities.render_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("1", 1), ("512B", 512), ("4K", 4096), ("4KB", 4096), ("4 KiB", 4096),
        ("1.5G", 1610612736), ("2T", 2 * 1024**4), ("1P", 1024**5),
    ],
)  # fmt: skip
def test_sizes_are_powers_of_1024(text, size):
    assert quantities.parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("250ms", 0.25), ("7d", 604800), ("0s", 0)]
)
def test_durations_are_said_with_their_units(text, seconds):
    assert quantities.parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("text", "thousandths"), [("1", 1000), ("0.5", 500), ("1.25", 1250)])
def test_cpus_are_thousandths(text, thousandths):
    assert quantities.parse_cpus(text) == thousandths


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (quantities.parse_bytes, ["", "G", "-1", "1.5", "4g", "4GG", "1e9", "٤", " 4", "1.2345G"]),
        (quantities.parse_duration, ["", "30", "s", "1m1h", "1s1s", "1.5h", "-1s", "1 s", "1w"]),
        (quantities.parse_duration, ["999999999d24h", "9" * 30 + "s"]),
        (quantities.parse_cpus, ["", "0", "0.0", "-1", "1.", "two", "12345", "1.2345"]),
    ],
)
def test_what_could_be_read_two_ways_is_refused(parse, texts):
    for text in texts:
        with pytest.raises(MalformedQuantity):
            parse(text)
