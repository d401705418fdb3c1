"""Bodies: JSON that came from outside, turned into what a route asked for, or refused with reasons.

JSON that cannot be read is 400; JSON that can be read but means nothing here is 422 and names the
fields. Two things are valid JSON and still refused, because PostgreSQL cannot keep them and no
reader expects them: NUL characters and halves of surrogate pairs.
"""

import json
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from coven.doors.errors import (
    BodyTypeRefused,
    CovenError,
    InvalidBody,
    MalformedBody,
    UnstorableText,
    problems,
)

_FIELDS_TOLD_MAX = 20


def parse(adapter: TypeAdapter[Any], raw: bytes, content_type: bytes | None) -> Any:
    """The value that a body spells."""
    if content_type != b"application/json":
        _check_type(content_type)
    if b"\\u0000" in raw:
        _refuse_unstorable(_loaded(raw))
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        raise _refusal(raw, error) from None


def _check_type(content_type: bytes | None) -> None:
    media = (content_type or b"").partition(b";")[0].strip().lower()
    is_json = media == b"application/json" or (
        media.startswith(b"application/") and media.endswith(b"+json")
    )
    if not is_json:
        told = (content_type or b"")[:80].decode("ascii", "backslashreplace")
        raise BodyTypeRefused(content_type=told)


def _refusal(raw: bytes, error: ValidationError) -> CovenError:
    found: list[Any] = list(
        error.errors(include_url=False, include_input=False, include_context=False)
    )
    if found[0]["type"] == "json_invalid":
        # The parser refuses half a surrogate pair as broken JSON; the standard library reads it.
        _refuse_unstorable(_loaded(raw))
        return MalformedBody(problem=str(found[0]["msg"]).removeprefix("Invalid JSON: "))
    fields = problems(found[:_FIELDS_TOLD_MAX])
    told = "; ".join(f"{one['field']}: {one['problem']}" for one in fields)
    return InvalidBody(problem=told, fields=fields)


def _loaded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _refuse_unstorable(value: Any) -> None:
    # Iterative, because the nesting is the caller's choice.
    left: list[tuple[str, Any]] = [("(body)", value)]
    while left:
        field, part = left.pop()
        if isinstance(part, str):
            _check_text(field, part)
        elif isinstance(part, dict):
            members = cast("dict[str, Any]", part)
            for name, inner in members.items():
                _check_text("(a name)", name)
                left.append((name, inner))
        elif isinstance(part, list):
            left.extend((field, inner) for inner in cast("list[Any]", part))


def _check_text(field: str, text: str) -> None:
    if "\x00" in text:
        raise UnstorableText(field=field, problem="NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnstorableText(field=field, problem="half of a surrogate pair") from None
