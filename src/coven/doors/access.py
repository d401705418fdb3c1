"""Access: who is calling, and how much they may do.

A caller is known in one of three ways. Whoever reaches the Unix socket owns its directory, so is
the owner of this daemon. Whoever sends the text of `.coven/token` is the owner as well. Whoever
sends another token is what that token says: a name, a scope, a project. A token that is presented
always decides, also on the socket, so that a program can be given less than its user has.

Deliberately not here: HTTP. `doors.http` reads the headers and says what a refusal looks like.
"""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from coven.core.clock import Clock
from coven.core.errors import CovenError, Kind
from coven.core.ids import ProjectId, TokenId
from coven.doors import records
from coven.doors.model import Grant, Scope
from coven.doors.tokens import digest
from coven.store import Store

__all__ = ["OWNER", "Access", "Principal", "Scope"]

_CACHED_MAX = 256
# A revoked token is refused at once by the daemon that revoked it, and by other daemons on the same
# store at the latest after this long.
_CACHED_SECONDS_MAX = 2.0
_TOKEN_BYTES_MAX = 512


class TokenMissing(CovenError):
    """This needs a token."""

    code = "TOKEN_MISSING"
    kind = Kind.UNAUTHENTICATED
    remedy = (
        "Send `Authorization: Bearer …` with the text of .coven/token, or use the socket "
        ".coven/covend.sock, which needs none."
    )


class TokenUnknown(CovenError):
    """The token is not known here, or was revoked."""

    code = "TOKEN_UNKNOWN"
    kind = Kind.UNAUTHENTICATED
    remedy = (
        "Check that the token belongs to this daemon: .coven/token of its project directory, or "
        "one from `POST /api/v1/tokens`."
    )


class ScopeTooNarrow(CovenError):
    """This needs the scope {needed!r}; the token {name!r} has {scope!r}."""

    code = "SCOPE_TOO_NARROW"
    kind = Kind.FORBIDDEN
    remedy = "Use a token with a wider scope; its owner can make one at `POST /api/v1/tokens`."


class ForeignProject(CovenError):
    """The token {name!r} acts in the project {own!r} only; this concerns {concerned}."""

    code = "FOREIGN_PROJECT"
    kind = Kind.FORBIDDEN
    remedy = (
        "Leave out X-Coven-Project, or use a token that was made in that project. What concerns "
        "the whole daemon is for its owner: use the socket, or the text of .coven/token."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who acts."""

    kind: str
    """`owner` or `token`."""
    name: str
    scope: Scope
    token_id: TokenId | None = None
    project: ProjectId | None = None
    """The only project it may act in; None is every project."""

    @property
    def identity(self) -> str:
        """Whose things are whose: the same caller under a new name stays the same."""
        return self.kind if self.token_id is None else f"{self.kind}:{self.token_id}"


OWNER = Principal(kind="owner", name="owner", scope=Scope.ADMIN)


@dataclass(slots=True)
class _Known:
    principal: Principal
    until: float


class Access:
    """Recognises callers. One for each daemon; used on the event loop only."""

    def __init__(self, store: Store, clock: Clock, *, owner_hash: str | None) -> None:
        """`owner_hash` is the `tokens.digest` of `.coven/token`; None leaves only the socket."""
        self._store = store
        self._clock = clock
        self._owner_hash = owner_hash or digest(secrets.token_bytes(32))
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._watchers: dict[TokenId, set[asyncio.Event]] = {}
        self._revoked: set[TokenId] = set()

    def recognise(self, authorization: bytes | None, *, over_socket: bool) -> Principal | None:
        """The caller, if that needs no look into the store: the owner, or a token seen lately."""
        if authorization is None:
            if over_socket:
                return OWNER
            raise TokenMissing()
        token_hash = digest(_bearer(authorization))
        if hmac.compare_digest(token_hash, self._owner_hash):
            return OWNER
        known = self._known.get(token_hash)
        if known is None or known.until < self._clock.monotonic():
            return None
        return known.principal

    async def look_up(self, authorization: bytes) -> Principal:
        """The caller that a token names, or TokenUnknown."""
        token_hash = digest(_bearer(authorization))
        grant = await self._store.read(records.grant, token_hash)
        # A revoke that was committed while we were reading wins over what we read.
        if grant is None or grant.token_id in self._revoked:
            raise TokenUnknown()
        principal = _principal(grant)
        until = self._clock.monotonic() + _CACHED_SECONDS_MAX
        self._known[token_hash] = _Known(principal, until)
        self._known.move_to_end(token_hash)
        if len(self._known) > _CACHED_MAX:
            self._known.popitem(last=False)
        return principal

    def forget(self, token_id: TokenId) -> None:
        """A token was revoked: refuse it from now on, and end the streams that it opened."""
        self._revoked.add(token_id)
        for token_hash, known in list(self._known.items()):
            if known.principal.token_id == token_id:
                del self._known[token_hash]
        for watcher in self._watchers.pop(token_id, ()):
            watcher.set()

    async def end_revoked(self) -> dict[str, int]:
        """End the streams of tokens that another daemon on the same store has revoked."""
        revoked = 0
        for token_id in list(self._watchers):
            if await self._store.read(records.is_revoked, token_id):
                self.forget(token_id)
                revoked += 1
        return {"tokens": revoked}

    def watch(self, principal: Principal, ended: asyncio.Event) -> None:
        """Set `ended` when the principal loses its token. The owner cannot."""
        if principal.token_id in self._revoked:
            ended.set()  # since it was let in
        elif principal.token_id is not None:
            self._watchers.setdefault(principal.token_id, set()).add(ended)

    def unwatch(self, principal: Principal, ended: asyncio.Event) -> None:
        """Stop watching."""
        if principal.token_id is not None:
            watchers = self._watchers.get(principal.token_id, set())
            watchers.discard(ended)
            if not watchers:
                self._watchers.pop(principal.token_id, None)


def allow(principal: Principal, needed: Scope, *, home: ProjectId | None = None) -> None:
    """Refuse a principal whose scope, or whose project, is narrower than what is needed.

    What concerns the whole daemon needs a token of `home`, the project that the daemon is for.
    """
    if principal.scope < needed:
        raise ScopeTooNarrow(needed=needed.value, name=principal.name, scope=principal.scope.value)
    if home is not None and principal.project not in (None, home):
        raise ForeignProject(
            name=principal.name, own=principal.project, concerned="the whole daemon"
        )


def project_of(principal: Principal, named: ProjectId | None) -> ProjectId | None:
    """The project that a call is about: the one it names, else its token's; None is the store's."""
    if principal.project is None or named == principal.project:
        return named
    if named is not None:
        raise ForeignProject(
            name=principal.name, own=principal.project, concerned=f"the project {named!r}"
        )
    return principal.project


def _bearer(authorization: bytes) -> bytes:
    scheme, _, token = authorization.partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token or len(token) > _TOKEN_BYTES_MAX:
        raise TokenUnknown()
    return token


def _principal(grant: Grant) -> Principal:
    return Principal(
        kind="token",
        name=grant.name,
        scope=grant.scope,
        token_id=grant.token_id,
        project=grant.project_id,
    )
