"""Pages: how a long list is read a piece at a time without losing its place.

A page continues from the *key of the last row* (keyset), never from an offset, so rows that arrive
or go meanwhile are neither skipped nor repeated. The cursor that carries the key is opaque text; it
also carries which list and which filters it belongs to, so that a cursor used elsewhere is refused
instead of giving a wrong answer.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from coven.core.errors import CovenError, Kind

ROWS_DEFAULT = 50
ROWS_MAX = 500
PAGE_BYTES_MAX = 256 * 1024

T = TypeVar("T")
Scalar = str | int | None


class MalformedCursor(CovenError):
    """The cursor cannot be used here."""

    code = "MALFORMED_CURSOR"
    kind = Kind.MALFORMED
    remedy = (
        "Use `next_cursor` of the page before, unchanged and with the same filters; "
        "or leave the cursor out to start again."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some rows of a list, and where the next ones begin."""

    items: Sequence[T]
    next_cursor: str | None
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which piece of which list somebody wants."""

    collection: str
    limit: int = ROWS_DEFAULT
    after: tuple[Scalar, ...] | None = None
    filters: tuple[tuple[str, Scalar], ...] = ()

    @property
    def fetch(self) -> int:
        """One row more than the page holds, which tells whether there is another page."""
        return self.limit + 1


def request(
    collection: str,
    *,
    key: tuple[Callable[[str], object] | type[int], ...],
    cursor: str | None,
    limit: int = ROWS_DEFAULT,
    **filters: Scalar,
) -> PageRequest:
    """What a caller asked for, with its cursor checked against the list and the filters.

    `key` holds, for each column of the list's order, the function that checks a text (`ids.parse`,
    `clock.parse`, …) or `int`: a cursor that somebody made up must not reach the database.
    """
    given = tuple(sorted((name, value) for name, value in filters.items() if value is not None))
    after = _checked(_decode(cursor, collection, given), key) if cursor else None
    return PageRequest(collection=collection, limit=limit, after=after, filters=given)


def cut(
    asked: PageRequest,
    rows: Sequence[T],
    *,
    key: Callable[[T], tuple[Scalar, ...]],
    size: Callable[[T], int] | None = None,
) -> Page[T]:
    """The page out of at most `asked.fetch` rows, ended early where it would grow too heavy."""
    items = list(rows[: asked.limit])
    if size is not None:
        weight = 0
        for index, item in enumerate(items):
            weight += size(item)
            if weight > PAGE_BYTES_MAX and index > 0:
                items = items[:index]
                break
    has_more = len(rows) > len(items)
    cursor = _encode(asked, key(items[-1])) if has_more and items else None
    return Page(items=items, next_cursor=cursor, has_more=has_more)


def _checked(
    after: tuple[Scalar, ...], key: tuple[Callable[[str], object] | type[int], ...]
) -> tuple[Scalar, ...]:
    if len(after) != len(key):
        raise MalformedCursor()
    for part, check in zip(after, key, strict=True):
        if check is int:
            if not isinstance(part, int) or not -(1 << 63) <= part < 1 << 63:
                raise MalformedCursor()
        else:
            if not isinstance(part, str):
                raise MalformedCursor()
            try:
                check(part)
            except CovenError as error:
                raise MalformedCursor() from error
    return after


def _encode(asked: PageRequest, key: tuple[Scalar, ...]) -> str:
    body = [1, asked.collection, _checksum(asked.filters), *key]
    raw = json.dumps(body, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(
    cursor: str, collection: str, filters: tuple[tuple[str, Scalar], ...]
) -> tuple[Scalar, ...]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        body: Any = json.loads(raw)
    except (binascii.Error, ValueError, RecursionError) as error:
        raise MalformedCursor() from error
    if not isinstance(body, list) or body[:3] != [1, collection, _checksum(filters)]:
        raise MalformedCursor()
    key = cast("list[object]", body)[3:]
    scalars = tuple(part for part in key if part is None or type(part) in (str, int))
    if not key or len(scalars) != len(key):
        raise MalformedCursor()
    return cast("tuple[Scalar, ...]", scalars)


def _checksum(filters: tuple[tuple[str, Scalar], ...]) -> int:
    return zlib.crc32(json.dumps(filters).encode())
