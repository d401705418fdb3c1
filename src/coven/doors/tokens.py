"""What one does with tokens: create, list, revoke. The secret leaves this module once."""

import hashlib
import secrets

from coven.core import clock, ids
from coven.core.ids import TokenId
from coven.core.pages import Page, PageRequest, cut
from coven.doors import records
from coven.doors.model import (
    Scope,
    Token,
    TokenAlreadyShown,
    TokenCreated,
    TokenNotFound,
    TokenRevoked,
)
from coven.store import Transaction, View, idempotency
from coven.store.idempotency import IdempotencyKey

_SECRET_BYTES = 32
_PREFIX = "coven_"  # So that a scanner for leaked secrets can know one when it sees it.


def fresh_secret() -> str:
    """A new secret: 256 random bits, as text that survives headers, shells and files."""
    return _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)


def digest(secret: str | bytes) -> str:
    """What is kept of a secret."""
    raw = secret.encode() if isinstance(secret, str) else secret
    return hashlib.sha256(raw).hexdigest()


def create(
    tx: Transaction,
    name: str,
    scope: Scope,
    *,
    token_hash: str,
    by: str,
    key: IdempotencyKey | None = None,
) -> Token:
    """Make a token whose secret hashes to `token_hash`."""
    fresh = TokenId(ids.new())
    mine = TokenId(idempotency.claim(tx, key, makes=fresh))
    if mine != fresh:
        raise TokenAlreadyShown(token_id=mine)
    token = Token(
        token_id=mine,
        name=name,
        scope=scope,
        created_at=clock.render(tx.now),
        created_by=by,
        revoked_at=None,
    )
    records.insert(tx, token, token_hash=token_hash)
    tx.emit(TokenCreated(entity_id=mine, name=name, scope=scope.value))
    return token


def page(view: View, asked: PageRequest) -> Page[Token]:
    """Some tokens, newest first, without their secrets."""
    return cut(asked, records.page(view, asked), key=lambda token: (token.token_id,))


def revoke(tx: Transaction, token_id: TokenId, key: IdempotencyKey | None = None) -> Token:
    """Refuse a token from now on. Revoking it again changes nothing and tells nobody."""
    idempotency.claim(tx, key, makes=token_id)
    landed = records.revoke(tx, token_id, at=clock.render(tx.now))
    token = records.find(tx, token_id)
    if token is None:
        raise TokenNotFound(token_id=token_id)
    if landed:
        tx.emit(TokenRevoked(entity_id=token_id, name=token.name))
    return token
