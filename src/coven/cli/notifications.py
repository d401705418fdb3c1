"""Notifications: what a person must be told."""

from typing import TYPE_CHECKING, Annotated

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import document, line, table

if TYPE_CHECKING:
    from coven.client import Notification

app = group("notification", help="What a person must be told.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id.", show_default=False)]


@command(app, "post", example='coven notification post build "It is green"')
async def post(
    here: Here,
    kind: Annotated[str, typer.Argument(help="What sort of thing it is.", show_default=False)],
    title: Annotated[str, typer.Argument(help="One line.", show_default=False)],
    *,
    body: Annotated[str | None, typer.Option(metavar="TEXT", help="The rest.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about.")] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The same key again gives the same notification."),
    ] = None,
) -> None:
    """Tell a person something."""
    async with here.coven() as coven:
        posted = await coven.notifications.post(
            kind, title, body=body, subject=subject, idempotency_key=idempotency_key
        )
    document(posted) if here.json else line(posted.id)


@command(app, "list", example="coven notification list --unread")
async def list_(
    here: Here,
    *,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only of this sort.")] = None,
    unread: Annotated[bool, typer.Option("--unread", help="Only what is not read yet.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="N", help="How many.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Go on after a page.")
    ] = None,
) -> None:
    """List notifications, newest first."""
    async with here.coven() as coven:
        page = await coven.notifications.page(
            cursor, limit=limit, kind=kind, unread=True if unread else None
        )
    if here.json:
        document(page)
        return
    rows = [[item.id, item.created_at, item.kind, item.title, _mark(item)] for item in page.items]
    table(["id", "at", "kind", "title", "read"], rows)
    if page.has_more:
        line(f"There are more: --cursor {page.next_cursor}")


@command(app, "show", example="coven notification show 0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e")
async def show(here: Here, notification_id: IdArgument) -> None:
    """Show one notification whole."""
    async with here.coven() as coven:
        found = await coven.notifications.get(notification_id)
    document(found) if here.json else _show(found)


@command(app, "read", example="coven notification read 0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e")
async def read(here: Here, notification_id: IdArgument) -> None:
    """Mark a notification as read."""
    async with here.coven() as coven:
        found = await coven.notifications.read(notification_id)
    document(found) if here.json else line(f"Read: {found.title}")


def _show(found: "Notification") -> None:
    line(f"{found.title}  ({found.kind})")
    if found.subject:
        line(f"about {found.subject}")
    line(f"at {found.created_at.astimezone():%Y-%m-%d %H:%M:%S}{_read_at(found)}")
    if found.body:
        line("")
        line(found.body)


def _read_at(found: "Notification") -> str:
    return f", read {found.read_at.astimezone():%Y-%m-%d %H:%M:%S}" if found.read_at else ""


def _mark(found: "Notification") -> str:
    return "yes" if found.read_at else ""
