"""Notifications: what a person must be told, posted, listed and marked as read."""

from collections.abc import AsyncIterator

from coven.client.transport import Request, Transport, segment
from coven.client.values import Notification, read, read_page
from coven.core.pages import Page

PATH = "/api/v1/notifications"


class Notifications:
    """What a person must be told."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def post(
        self,
        kind: str,
        title: str,
        *,
        body: str | None = None,
        subject: str | None = None,
        idempotency_key: str | None = None,
    ) -> Notification:
        """Tell a person. The same `idempotency_key` again gives the same notification."""
        given = {"kind": kind, "title": title, "body": body, "subject": subject}
        draft = {name: value for name, value in given.items() if value is not None}
        request = Request.change(PATH, body=draft, key=idempotency_key)
        return read(Notification, await self._transport.ask(request))

    async def page(
        self,
        cursor: str | None = None,
        *,
        limit: int | None = None,
        kind: str | None = None,
        unread: bool | None = None,
    ) -> Page[Notification]:
        """One page; continue with its `next_cursor` and the same filters."""
        request = Request.get(PATH, cursor=cursor, limit=limit, kind=kind, unread=unread)
        return read_page(Notification, await self._transport.ask(request))

    async def list(
        self, *, kind: str | None = None, unread: bool | None = None
    ) -> AsyncIterator[Notification]:
        """Every notification, page after page."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor, kind=kind, unread=unread)
            for notification in page.items:
                yield notification
            if not page.has_more or page.next_cursor is None:
                return
            cursor = page.next_cursor

    async def get(self, notification_id: str) -> Notification:
        """One notification, or NotFound."""
        request = Request.get(f"{PATH}/{segment(notification_id)}")
        return read(Notification, await self._transport.ask(request))

    async def read(self, notification_id: str) -> Notification:
        """Mark it as read; again is harmless."""
        request = Request.change(f"{PATH}/{segment(notification_id)}/read")
        return read(Notification, await self._transport.ask(request))
