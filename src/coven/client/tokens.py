"""Tokens: keys to the daemon for those who do not come through its socket."""

from collections.abc import AsyncIterator
from typing import Literal

from coven.client.transport import Request, Transport, segment
from coven.client.values import Token, read, read_page
from coven.core.pages import Page

PATH = "/api/v1/tokens"

Scope = Literal["read", "work", "admin"]


class Tokens:
    """Keys to the daemon."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def create(
        self, name: str, scope: Scope = "work", *, idempotency_key: str | None = None
    ) -> Token:
        """A new token; `token.token` is its text, which is told this once and kept nowhere."""
        body = {"name": name, "scope": scope}
        request = Request.change(PATH, body=body, key=idempotency_key)
        return read(Token, await self._transport.ask(request))

    async def page(self, cursor: str | None = None, *, limit: int | None = None) -> Page[Token]:
        """One page of the tokens, without their texts."""
        request = Request.get(PATH, cursor=cursor, limit=limit)
        return read_page(Token, await self._transport.ask(request))

    async def list(self) -> AsyncIterator[Token]:
        """Every token, page after page."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            for token in page.items:
                yield token
            if not page.has_more or page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def revoke(self, token_id: str) -> None:
        """End a token; requests that carry it are refused from now on."""
        request = Request.change(f"{PATH}/{segment(token_id)}", method="DELETE")
        await self._transport.ask(request)
