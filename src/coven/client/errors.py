"""What can go wrong for a client: what the daemon refused, and a daemon that cannot be reached.

A refusal carries the daemon's own `code`, `message`, `details` and `remedy`, and the `status` it
came with. Its class says what the caller can do about it, so `except NotFound` needs no table of
codes. The client knows no room, so the codes themselves are only text here; `docs/reference` lists
them. Failures that never reached a daemon are catalogue entries of their own, below.
"""

from typing import Any

from coven.core.errors import CovenError, Kind


class DaemonNotRunning(CovenError):
    """No daemon is running in {place}."""

    code = "DAEMON_NOT_RUNNING"
    kind = Kind.UNAVAILABLE
    remedy = "Start it with `coven up`, or name another place with --dir, COVEN_DIR or COVEN_URL."


class BadAddress(CovenError):
    """{name} cannot be the URL of a daemon: {shown}."""

    code = "BAD_ADDRESS"
    kind = Kind.INVALID
    remedy = "Write it as http://host:port or https://host."


class BadToken(CovenError):
    """{name} cannot be a token: it holds spaces, line ends, or signs that are not plain ASCII."""

    code = "BAD_TOKEN"
    kind = Kind.INVALID
    remedy = "Copy the token whole, as `coven token create` printed it."


class ConnectionLost(CovenError):
    """The connection to the daemon was lost before it answered {method} {path}."""

    code = "CONNECTION_LOST"
    kind = Kind.UNAVAILABLE
    remedy = (
        "See `coven status`. Whether a change was made is unknown; sending it again with the same "
        "idempotency key is safe."
    )


class NoReply(CovenError):
    """The daemon did not answer {method} {path} within {seconds} seconds."""

    code = "NO_REPLY"
    kind = Kind.UNAVAILABLE
    remedy = "Look at `coven status` and `coven logs`. Whether a change was made is unknown."


class SocketForbidden(CovenError):
    """The daemon in {place} belongs to another user, who has not let you in."""

    code = "SOCKET_FORBIDDEN"
    kind = Kind.FORBIDDEN
    remedy = "Ask for a token (`coven token create`) and set COVEN_URL and COVEN_TOKEN."


class MalformedName(CovenError):
    """{text!r} is neither an id nor a name, so nothing was asked."""

    code = "MALFORMED_NAME"
    kind = Kind.MALFORMED
    remedy = "Ids and names are not empty and have no `/` in them; copy them whole from a list."


class UnreadableReply(CovenError):
    """What answers is not a Coven daemon that this client understands: {problem}."""

    code = "UNREADABLE_REPLY"
    kind = Kind.BUG
    remedy = "Check the address, and that client and daemon are of the same version."


class CovenApiError(CovenError):
    """The daemon refused a request; `code`, `message`, `details` and `remedy` are its own."""

    def __init__(self, *, status: int, error: dict[str, Any]) -> None:
        super().__init__()
        self.status = status
        self.message = str(error.get("message") or f"The daemon answered {status}.")
        details = error.get("details")
        self.details = details if isinstance(details, dict) else {}
        self.args = (self.message,)
        # These are facts of the class for errors made here; this one was made elsewhere.
        self.__dict__.update(
            code=str(error.get("code") or "INTERNAL_ERROR"),
            kind=_KINDS.get(status, Kind.BUG),
            remedy=str(error.get("remedy") or ""),
        )


class BadRequest(CovenApiError):
    """The request cannot be read, is too large, or means nothing; sending it again is no help."""


class AccessDenied(CovenApiError):
    """The caller is not known, or may not do this."""


class NotFound(CovenApiError):
    """There is no such thing."""


class Conflict(CovenApiError):
    """The state does not allow it; the details name the holder or the valid transitions."""


class Gone(CovenApiError):
    """It was there and is not kept any more; the details say where to start again."""


class StaleGeneration(CovenApiError):
    """The caller acts under a generation that has ended."""


class Busy(CovenApiError):
    """Too much at once, or not ready: try again later."""

    retry_after_seconds: float | None = None


_KINDS = {
    400: Kind.MALFORMED,
    401: Kind.UNAUTHENTICATED,
    403: Kind.FORBIDDEN,
    404: Kind.MISSING,
    405: Kind.MALFORMED,
    409: Kind.CONFLICT,
    410: Kind.GONE,
    412: Kind.STALE,
    413: Kind.TOO_LARGE,
    415: Kind.MALFORMED,
    422: Kind.INVALID,
    429: Kind.LIMITED,
    503: Kind.UNAVAILABLE,
}

_FAMILY: dict[Kind, type[CovenApiError]] = {
    Kind.MALFORMED: BadRequest,
    Kind.TOO_LARGE: BadRequest,
    Kind.INVALID: BadRequest,
    Kind.UNAUTHENTICATED: AccessDenied,
    Kind.FORBIDDEN: AccessDenied,
    Kind.MISSING: NotFound,
    Kind.CONFLICT: Conflict,
    Kind.GONE: Gone,
    Kind.STALE: StaleGeneration,
    Kind.LIMITED: Busy,
    Kind.UNAVAILABLE: Busy,
}


def refusal(status: int, error: dict[str, Any]) -> CovenApiError:
    """The error that a status and the body's `error` object spell."""
    family = _FAMILY.get(_KINDS.get(status, Kind.BUG), CovenApiError)
    return family(status=status, error=error)
