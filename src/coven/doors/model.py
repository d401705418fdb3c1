"""Tokens: how a caller that is not the owner of this machine's files is known.

A token is a name, a scope and a secret. The secret is shown once, when the token is made; what is
kept is its SHA-256, which is enough because the secret is 256 random bits and not a password.
"""

import functools
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from coven.core.errors import CovenError, Kind
from coven.core.ids import ProjectId, TokenId
from coven.store import Event

NAME_CHARACTERS_MAX = 64
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._:@/-]*$"


@functools.total_ordering
class Scope(Enum):
    """How much a caller may do. Each scope contains the ones before it."""

    READ = "read"
    """Look at everything that is not a secret."""
    WORK = "work"
    """Also change things: what agents and people do all day."""
    ADMIN = "admin"
    """Also what concerns other callers: tokens; and the daemon, for who is not of one project."""

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Scope):
            return NotImplemented
        return _ORDER[self.value] < _ORDER[other.value]


_ORDER = {"read": 0, "work": 1, "admin": 2}


class TokenNotFound(CovenError):
    """There is no token {token_id}."""

    code = "TOKEN_NOT_FOUND"
    kind = Kind.MISSING
    remedy = "`GET /api/v1/tokens` lists the tokens that there are."


class TokenAlreadyShown(CovenError):
    """The token {token_id} was made by an earlier request with this Idempotency-Key."""

    code = "TOKEN_ALREADY_SHOWN"
    kind = Kind.CONFLICT
    remedy = (
        "A token is shown once and never kept. If the first reply was lost, delete this token and "
        "create another with a new key."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it can be told: everything but its secret."""

    token_id: TokenId
    name: str
    scope: Scope
    created_at: str
    created_by: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a valid secret gives: found by its hash, in whichever project it was made."""

    project_id: ProjectId
    token_id: TokenId
    name: str
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCreated(Event):
    """A token was made."""

    type: ClassVar[str] = "token.created"
    entity: ClassVar[str] = "token"

    name: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked(Event):
    """A token was revoked; whoever holds it is refused from now on."""

    type: ClassVar[str] = "token.revoked"
    entity: ClassVar[str] = "token"

    name: str
