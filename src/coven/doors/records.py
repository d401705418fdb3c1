"""How tokens are kept: rows in, values out."""

from collections.abc import Sequence

from coven.core.ids import ProjectId, TokenId
from coven.core.pages import PageRequest
from coven.doors.model import Grant, Scope, Token
from coven.store import Row, Transaction, View, load

queries = load("coven.doors")

# Every id is smaller: the first page has nothing to continue from.
_NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"


def insert(tx: Transaction, token: Token, *, token_hash: str) -> None:
    tx.run(
        queries["insert"],
        id=token.token_id,
        name=token.name,
        scope=token.scope.value,
        hash=token_hash,
        created_at=token.created_at,
        created_by=token.created_by,
    )


def find(view: View, token_id: TokenId) -> Token | None:
    row = view.first(queries["get"], id=token_id)
    return None if row is None else _token(row)


def page(view: View, asked: PageRequest) -> Sequence[Token]:
    """At most `asked.fetch` tokens, newest first."""
    before = asked.after[0] if asked.after else _NEWEST
    rows = view.all(queries["page"], before=before, limit=asked.fetch)
    return [_token(row) for row in rows]


def revoke(tx: Transaction, token_id: TokenId, *, at: str) -> bool:
    """Whether this was the write that did it."""
    return tx.run(queries["revoke"], id=token_id, revoked_at=at) == 1


def grant(view: View, token_hash: str) -> Grant | None:
    row = view.first(queries["grant"], hash=token_hash)
    if row is None:
        return None
    return Grant(
        project_id=ProjectId(row["project_id"]),
        token_id=TokenId(row["id"]),
        name=row["name"],
        scope=Scope(row["scope"]),
    )


def is_revoked(view: View, token_id: TokenId) -> bool:
    return view.first(queries["revoked"], id=token_id) is not None


def _token(row: Row) -> Token:
    return Token(
        token_id=TokenId(row["id"]),
        name=row["name"],
        scope=Scope(row["scope"]),
        created_at=row["created_at"],
        created_by=row["created_by"],
        revoked_at=row["revoked_at"],
    )
