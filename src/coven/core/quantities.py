"""Quantities that people write: "4G", "30s", "1.5". Parsed strictly, rendered back the same way.

Sizes are powers of 1024, as Docker and the kernel count them; "4G", "4GB" and "4GiB" are one size.
Anything else that could be read two ways is refused.
"""

import re
from datetime import timedelta

from coven.core.errors import CovenError, Kind

_SIZE = re.compile(r"(\d{1,12})(?:\.(\d{1,3}))?\s?(?:([KMGTP])(?:i?B)?|B)?", re.ASCII)
_DURATION_PART = re.compile(r"(\d{1,9})(ms|s|m|h|d)", re.ASCII)
_CPU = re.compile(r"(\d{1,4})(?:\.(\d{1,3}))?", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class MalformedQuantity(CovenError):
    """{text!r} is not {wanted}."""

    code = "MALFORMED_QUANTITY"
    kind = Kind.MALFORMED
    remedy = 'Write sizes like "512M" or "4G", durations like "30s" or "1h30m", CPUs like "1.5".'


def parse_bytes(text: str) -> int:
    """ "4G" as a number of bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise MalformedQuantity(text=text[:64], wanted="a size")
    whole, fraction, unit = match.groups()
    thousandths = int(whole) * 1000 + int((fraction or "0").ljust(3, "0"))
    scaled = thousandths * 1024 ** _POWERS[unit or ""]
    if scaled % 1000 and not unit:
        raise MalformedQuantity(text=text[:64], wanted="a whole number of bytes")
    return scaled // 1000


def render_bytes(count: int) -> str:
    """The largest unit that says the number exactly: 4294967296 is "4G"."""
    unit = ""
    for name in ("K", "M", "G", "T", "P"):
        if count == 0 or count % 1024:
            break
        count //= 1024
        unit = name
    return f"{count}{unit}"


def parse_duration(text: str) -> timedelta:
    """ "1h30m" as a duration; units from large to small, each at most once."""
    position, total, last = 0, 0, 1 << 40
    while match := _DURATION_PART.match(text, position):
        scale = _MILLISECONDS[match[2]]
        if scale >= last:
            break
        total += int(match[1]) * scale
        position, last = match.end(), scale
    if position == 0 or position != len(text):
        raise MalformedQuantity(text=text[:64], wanted="a duration")
    try:
        return timedelta(milliseconds=total)
    except OverflowError as error:
        raise MalformedQuantity(text=text[:64], wanted="a duration") from error


def render_duration(duration: timedelta) -> str:
    """The shortest way to write a duration exactly: "1h30m"."""
    left = round(duration / timedelta(milliseconds=1))
    if left == 0:
        return "0s"
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, left = divmod(left, _MILLISECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def parse_cpus(text: str) -> int:
    """ "1.5" as thousandths of a CPU."""
    match = _CPU.fullmatch(text)
    thousandths = 0
    if match is not None:
        thousandths = int(match[1]) * 1000 + int((match[2] or "0").ljust(3, "0"))
    if thousandths == 0:
        raise MalformedQuantity(text=text[:64], wanted="a number of CPUs")
    return thousandths
