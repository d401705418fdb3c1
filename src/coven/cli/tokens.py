"""Tokens: keys to the daemon for those who do not come through its socket."""

from enum import Enum
from typing import Annotated

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import aside, document, line, table

app = group("token", help="Keys to the daemon.")


class Scope(Enum):
    """What a token may do: look, work, or everything."""

    READ = "read"
    WORK = "work"
    ADMIN = "admin"


@command(app, "create", example="coven token create laptop --scope read")
async def create(
    here: Here,
    name: Annotated[str, typer.Argument(help="Whose key it is.", show_default=False)],
    *,
    scope: Annotated[Scope, typer.Option(help="What it may do.")] = Scope.WORK,
) -> None:
    """Make a token. Its text is shown this once and kept nowhere."""
    async with here.coven() as coven:
        token = await coven.tokens.create(name, scope.value)
    if here.json:
        document(token)
        return
    line(token.token or "")
    aside("Keep it now: it cannot be shown again. Whoever has it may do what its scope allows.")


@command(app, "list", example="coven token list")
async def list_(here: Here) -> None:
    """List the tokens, without their texts."""
    async with here.coven() as coven:
        tokens = [token async for token in coven.tokens.list()]
    if here.json:
        document({"items": tokens, "next_cursor": None, "has_more": False})
        return
    rows = [[one.id, one.name, one.scope, one.created_at, one.revoked_at] for one in tokens]
    table(["id", "name", "scope", "created", "revoked"], rows)


@command(app, "revoke", example="coven token revoke 0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e")
async def revoke(
    here: Here,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Its id.", show_default=False)],
) -> None:
    """End a token; requests that carry it are refused from now on."""
    async with here.coven() as coven:
        await coven.tokens.revoke(token_id)
    document({"id": token_id, "revoked": True}) if here.json else line("Revoked.")
