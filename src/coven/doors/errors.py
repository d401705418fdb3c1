"""Errors on the wire: one shape, one status for each kind, and what the doors refuse themselves.

    {"error": {"code": …, "message": …, "details": {…}, "remedy": …}}

Rooms raise `CovenError`s and never see a status. A defect is told as such, with the id under which
the log has the rest; nothing of the inside of the daemon goes out.
"""

import json
from typing import Any

from pydantic_core import to_json

from coven.core.errors import CovenError, Kind

STATUS = {
    Kind.MALFORMED: 400,
    Kind.UNAUTHENTICATED: 401,
    Kind.FORBIDDEN: 403,
    Kind.MISSING: 404,
    Kind.CONFLICT: 409,
    Kind.GONE: 410,
    Kind.STALE: 412,
    Kind.TOO_LARGE: 413,
    Kind.INVALID: 422,
    Kind.LIMITED: 429,
    Kind.UNAVAILABLE: 503,
    Kind.BUG: 500,
}
RETRY_AFTER_SECONDS = 1

Header = tuple[bytes, bytes]


class RouteNotFound(CovenError):
    """There is nothing at {path}."""

    code = "ROUTE_NOT_FOUND"
    kind = Kind.MISSING
    remedy = "`/docs` shows every route of this daemon."


class MethodNotAllowed(CovenError):
    """{path} does not take {method}, only {allowed}."""

    code = "METHOD_NOT_ALLOWED"
    kind = Kind.MALFORMED
    remedy = "Use one of the methods that are named."


class HostRefused(CovenError):
    """{host!r} is not a name of this daemon."""

    code = "HOST_REFUSED"
    kind = Kind.FORBIDDEN
    remedy = "Reach it as 127.0.0.1 or localhost. Other names are refused to stop DNS rebinding."


class OriginRefused(CovenError):
    """Pages of {origin!r} may not call this daemon."""

    code = "ORIGIN_REFUSED"
    kind = Kind.FORBIDDEN
    remedy = "Only pages that this daemon serves itself may call it from a browser."


class HeadersRefused(CovenError):
    """The headers cannot be read: {problem}."""

    code = "HEADERS_REFUSED"
    kind = Kind.MALFORMED
    remedy = "Send each header once and fewer of them."


class MalformedKey(CovenError):
    """The Idempotency-Key is not a key."""

    code = "MALFORMED_IDEMPOTENCY_KEY"
    kind = Kind.MALFORMED
    remedy = "Use 1 to 200 visible ASCII characters, for example a UUID."


class BodyTooLarge(CovenError):
    """The body is larger than {bytes_limit} bytes."""

    code = "BODY_TOO_LARGE"
    kind = Kind.TOO_LARGE
    remedy = "Send less at once."


class BodyTypeRefused(CovenError):
    """The body must be JSON, not {content_type!r}."""

    code = "BODY_TYPE_REFUSED"
    kind = Kind.MALFORMED
    remedy = "Send JSON with the header `Content-Type: application/json`."


class MalformedBody(CovenError):
    """The body is not JSON: {problem}."""

    code = "MALFORMED_BODY"
    kind = Kind.MALFORMED
    remedy = "Send one JSON object in UTF-8; `/docs` shows what it may hold."


class InvalidBody(CovenError):
    """The body does not mean anything here: {problem}."""

    code = "INVALID_BODY"
    kind = Kind.INVALID
    remedy = "`details.fields` names each field; `/docs` shows what it may hold."


class UnstorableText(CovenError):
    """The field {field!r} has a character that cannot be stored: {problem}."""

    code = "UNSTORABLE_TEXT"
    kind = Kind.INVALID
    remedy = "Leave out NUL characters and halves of surrogate pairs."


class InvalidParameters(CovenError):
    """The request cannot be read: {problem}."""

    code = "INVALID_PARAMETERS"
    kind = Kind.MALFORMED
    remedy = "`details.parameters` names each one; `/docs` shows what it may be."


class DaemonStopping(CovenError):
    """The daemon is stopping; no stream begins any more."""

    code = "DAEMON_STOPPING"
    kind = Kind.UNAVAILABLE
    remedy = "Ask again when it is back; the last id that was read is the place to go on from."


# Two refusals of HTTP itself have a status of their own inside their kind.
_OWN_STATUS: dict[type[CovenError], int] = {MethodNotAllowed: 405, BodyTypeRefused: 415}


def status_of(error: CovenError | type[CovenError]) -> int:
    """The HTTP status of an error."""
    kind = error if isinstance(error, type) else type(error)
    return _OWN_STATUS.get(kind) or STATUS[error.kind]


def render(error: CovenError) -> bytes:
    """The body of the reply to a refused request."""
    told: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "details": error.details,
        "remedy": error.remedy,
    }
    # Whatever a room put into its details must not make its refusal a defect.
    try:
        return to_json({"error": told}, fallback=str, inf_nan_mode="null", bytes_mode="base64")
    except ValueError:
        return json.dumps({"error": {**told, "details": {"text": repr(error.details)}}}).encode()


def headers_of(error: CovenError) -> list[Header]:
    """What the status demands besides the body."""
    if error.kind is Kind.UNAUTHENTICATED:
        return [(b"www-authenticate", b'Bearer realm="coven"')]
    if error.kind in (Kind.UNAVAILABLE, Kind.LIMITED):
        return [(b"retry-after", str(RETRY_AFTER_SECONDS).encode())]
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", str(error.details["allowed"]).encode())]
    return []


def problems(found: list[Any]) -> list[dict[str, str]]:
    """What a validator found, by field, without repeating what was sent: it may be a secret."""
    return [
        {
            "field": ".".join(str(part) for part in one["loc"]) or "(body)",
            "problem": str(one["msg"]).removeprefix("Value error, "),
        }
        for one in found
    ]
