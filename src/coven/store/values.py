"""What can be kept: text, whole numbers of 64 bits, finite or infinite reals, bytes, nothing.

The engines differ in what they refuse: SQLite keeps a NUL character and turns NaN into NULL,
PostgreSQL has no boolean numbers, and each driver has its own exception for half a surrogate pair.
Here every value is looked at before it reaches either, so that a refusal is the same on both and is
an answer to whoever sent the value, not a defect. Deliberately not here: what a value means.
"""

import json
from typing import Any, cast

from coven.core.errors import CovenError, Kind

VALUE_BYTES_MAX = 64 * 1024 * 1024
EVENT_BYTES_MAX = 64 * 1024
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**63 - 1
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_NUL_IN_JSON = "\\u0000"


class UnstorableValue(CovenError):
    """The value of {name!r} cannot be kept: {reason}."""

    code = "UNSTORABLE_VALUE"
    kind = Kind.INVALID
    remedy = (
        "Send text without NUL characters and half surrogate pairs, and whole numbers of at most "
        "64 bits."
    )


class ValueTooLarge(CovenError):
    """The value of {name!r} is larger than the {limit} bytes that are kept in one place."""

    code = "VALUE_TOO_LARGE"
    kind = Kind.TOO_LARGE
    remedy = "Send less, or in several pieces."


def check(values: dict[str, Any]) -> dict[str, Any]:
    """Refuse what cannot be kept; give enumerations, booleans and their like as plain values."""
    for name, value in values.items():
        kind = cast(type[Any], type(value))
        if kind is str:
            # Nearly every value is this simple, so it is not worth a call.
            if len(value) > VALUE_BYTES_MAX or "\0" in value or not value.isascii():
                _check_text(name, value)
        elif kind is int:
            if not _INTEGER_MIN <= value <= _INTEGER_MAX:
                raise UnstorableValue(name=name, reason="the number has more than 64 bits")
        elif value is None:
            continue
        elif kind is bytes or kind is float:
            _check_rare(name, value)
        else:
            values[name] = _plain(name, value)
    return values


def _check_rare(name: str, value: bytes | float) -> None:
    if isinstance(value, bytes):
        if len(value) > VALUE_BYTES_MAX:
            raise ValueTooLarge(name=name, limit=VALUE_BYTES_MAX)
    elif value != value:
        raise UnstorableValue(name=name, reason="it is not a number")


def _check_text(name: str, text: str) -> None:
    if len(text) > VALUE_BYTES_MAX:
        raise ValueTooLarge(name=name, limit=VALUE_BYTES_MAX)
    if "\0" in text:
        raise UnstorableValue(name=name, reason="the text holds a NUL character")
    if not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise UnstorableValue(name=name, reason="the text holds half a character") from error
        if size > VALUE_BYTES_MAX:
            raise ValueTooLarge(name=name, limit=VALUE_BYTES_MAX)


def _plain(name: str, value: object) -> str | int | float | bytes:
    plain: str | int | float | bytes
    match value:
        case str():
            plain = str.__str__(value)
        case int():  # a boolean too
            plain = int(value)
        case float():
            plain = float(value)
        case bytearray():
            plain = bytes(value)
        case _:
            raise TypeError(f"{name}: a {type(value).__name__} is not a value of the store")
    check({name: plain})
    return plain


def render_event(event_type: str, facts: dict[str, Any]) -> str:
    """The facts of an event as JSON that both engines keep."""
    try:
        text = _encode(facts)
    except ValueError as error:
        raise UnstorableValue(name=event_type, reason="a number is not finite") from error
    if _NUL_IN_JSON in text and _holds_nul(facts):
        raise UnstorableValue(name=event_type, reason="the text holds a NUL character")
    if len(text) > EVENT_BYTES_MAX:
        # An event says what happened; whoever wants the whole of it reads the thing itself.
        raise ValueTooLarge(name=event_type, limit=EVENT_BYTES_MAX)
    check({event_type: text})
    return text


def _holds_nul(value: Any) -> bool:
    """Whether a NUL is really there: the six characters may also stand for themselves."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        pairs = cast(dict[Any, Any], value).items()
        return any(_holds_nul(part) for pair in pairs for part in pair)
    if isinstance(value, list | tuple):
        return any(_holds_nul(part) for part in cast(list[Any], value))
    return False
