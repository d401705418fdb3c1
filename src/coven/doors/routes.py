"""The routes of tokens, under /api/v1/tokens: for callers with the scope `admin` only."""

from dataclasses import asdict
from typing import Annotated, ClassVar

from fastapi import APIRouter
from pydantic import Field

from coven.core import ids, pages
from coven.core.ids import TokenId
from coven.doors import http, tokens
from coven.doors.access import Access
from coven.doors.callers import Administering
from coven.doors.model import (
    NAME_CHARACTERS_MAX,
    NAME_PATTERN,
    Scope,
    TokenAlreadyShown,
    TokenNotFound,
)
from coven.doors.openapi import raises
from coven.doors.shapes import CursorText, IdText, Input, InstantText, Limit, Listing, Output


class TokenDraft(Input):
    """Who the token is for, and how much it may do."""

    name: Annotated[
        str,
        Field(
            max_length=NAME_CHARACTERS_MAX,
            pattern=NAME_PATTERN,
            description="Who uses it; shown wherever it acts.",
            examples=["ci"],
        ),
    ]
    scope: Scope = Field(description="`read` < `work` < `admin`.", examples=["work"])


class TokenView(Output):
    """A token without its secret, which is not kept."""

    id: str = Field(validation_alias="token_id")
    name: str
    scope: Scope
    created_at: InstantText
    created_by: str = Field(description="Who made it.")
    revoked_at: InstantText | None = Field(description="When it was revoked; null while it works.")


class TokenSecret(TokenView):
    """A new token with its secret: the only reply that ever holds it."""

    holds_secret: ClassVar[bool] = True

    token: str = Field(description="Send it as `Authorization: Bearer …`. It is not shown again.")


def router(access: Access) -> APIRouter:
    """The routes; `access` must learn of a revoke before its caller does."""
    routes = http.router("/api/v1/tokens", tag="tokens")

    @routes.post("", status_code=201, responses=raises(TokenAlreadyShown))
    async def create(body: TokenDraft, caller: Administering) -> TokenSecret:
        """Create a token. Its secret is shown in this reply and never again."""
        secret = tokens.fresh_secret()
        token = await caller.store.write(
            tokens.create,
            body.name,
            body.scope,
            token_hash=tokens.digest(secret),
            by=caller.principal.name,
            key=caller.key,
        )
        return TokenSecret.model_validate({**asdict(token), "token": secret})

    @routes.get("")
    async def list_page(
        caller: Administering, limit: Limit = pages.ROWS_DEFAULT, cursor: CursorText = None
    ) -> Listing[TokenView]:
        """List tokens, newest first; revoked ones stay in the list."""
        asked = pages.request("tokens", key=(ids.parse,), cursor=cursor, limit=limit)
        found = await caller.store.read(tokens.page, asked)
        return Listing[TokenView].of(found)

    @routes.delete("/{token_id}", responses=raises(TokenNotFound))
    async def revoke(token_id: IdText, caller: Administering) -> TokenView:
        """Revoke a token: whoever holds it is refused from now on."""
        token = await caller.store.write(tokens.revoke, TokenId(token_id), key=caller.key)
        access.forget(token.token_id)
        return TokenView.of(token)

    return routes
