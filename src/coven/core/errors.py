"""Errors: a stable code, what the caller should do, and a sentence for a person.

An error class *is* its catalogue entry. Its docstring is the message, with `{details}` filled in;
`code` never changes once released; `kind` says what the caller can do about it; `remedy` says what
to do next. The doors turn a kind into an HTTP status and the command line into an exit code, so a
room never mentions either.

Deliberately not here: how an error looks on the wire (`coven.doors.errors`).
"""

from enum import Enum
from typing import Any, ClassVar


class Kind(Enum):
    """What the caller should do about an error."""

    MALFORMED = "malformed"
    """The request cannot be read; sending it again will not help."""
    UNAUTHENTICATED = "unauthenticated"
    """Say who you are."""
    FORBIDDEN = "forbidden"
    """You are known, and may not."""
    MISSING = "missing"
    """There is no such thing."""
    CONFLICT = "conflict"
    """The state does not allow it; the details name the holder or the valid transitions."""
    GONE = "gone"
    """It was there and is not kept any more; start again from the snapshot that is named."""
    STALE = "stale"
    """The caller acts under a generation that has ended."""
    TOO_LARGE = "too_large"
    """Send less."""
    INVALID = "invalid"
    """The request can be read but does not mean anything."""
    LIMITED = "limited"
    """Too many; wait or free something."""
    UNAVAILABLE = "unavailable"
    """Try again later; nothing was done, unless the details say that the outcome is unknown."""
    BUG = "bug"
    """Ours to fix."""


_catalogue: dict[str, type["CovenError"]] = {}


class CovenError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    kind: ClassVar[Kind] = Kind.BUG
    remedy: ClassVar[str] = (
        "This is a defect of Coven. `coven logs` shows what happened; please report it."
    )

    def __init__(self, *, detail: str | None = None, **details: Any) -> None:
        """`details` fill the message and travel with the error; `detail` is one more sentence."""
        self.details: dict[str, Any] = details
        template = (type(self).__doc__ or type(self).__name__).strip().split("\n\n")[0]
        message = " ".join(template.split()).format_map(_Filled(details))
        self.message = f"{message} {detail}" if detail else message
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            return  # a family of errors, not an entry of its own
        if cls.code in _catalogue:
            raise TypeError(f"two errors share the code {cls.code}: {_catalogue[cls.code]}, {cls}")
        if not cls.__doc__:
            raise TypeError(f"{cls.__name__} needs a docstring: it is the message")
        _catalogue[cls.code] = cls


class _Filled(dict[str, Any]):
    """Details for a message; a name that was not given stays visible instead of failing."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


_catalogue[CovenError.code] = CovenError


def catalogue() -> dict[str, type[CovenError]]:
    """Every error that has been imported, by code."""
    return dict(sorted(_catalogue.items()))
