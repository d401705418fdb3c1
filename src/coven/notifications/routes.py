"""The routes of notifications, under /api/v1/notifications."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from coven.core import ids, pages
from coven.core.ids import NotificationId
from coven.doors import (
    CursorText,
    Flag,
    IdText,
    Input,
    InstantText,
    Limit,
    Listing,
    Output,
    Reading,
    Working,
    http,
    raises,
)
from coven.notifications import posts
from coven.notifications.model import (
    BODY_BYTES_MAX,
    KIND_CHARACTERS_MAX,
    KIND_PATTERN,
    SUBJECT_CHARACTERS_MAX,
    TITLE_CHARACTERS_MAX,
    TITLE_PATTERN,
    Draft,
    NotificationNotFound,
)

router = http.router("/api/v1/notifications", tag="notifications")

KindText = Annotated[str, Field(max_length=KIND_CHARACTERS_MAX, pattern=KIND_PATTERN)]


class NotificationDraft(Input):
    """What a person is to be told."""

    kind: KindText = Field(
        description="What it is about, as a slug to filter by.", examples=["task.blocked"]
    )
    title: str = Field(
        min_length=1,
        max_length=TITLE_CHARACTERS_MAX,
        pattern=TITLE_PATTERN,
        description="One line that says it all.",
        examples=["The task waits for you"],
    )
    body: str | None = Field(
        default=None, max_length=BODY_BYTES_MAX, description="More, at most 16 KiB as UTF-8."
    )
    subject: str | None = Field(
        default=None,
        max_length=SUBJECT_CHARACTERS_MAX,
        description="The id or name of the thing that it is about.",
    )


class NotificationView(Output):
    """What a person was told."""

    id: str = Field(validation_alias="notification_id")
    kind: str
    title: str
    body: str | None
    subject: str | None
    created_at: InstantText
    read_at: InstantText | None = Field(description="When it was marked as read; null before.")


@router.post("", status_code=201)
async def post(body: NotificationDraft, caller: Working) -> NotificationView:
    """Tell a person something."""
    draft = Draft(kind=body.kind, title=body.title, body=body.body, subject=body.subject)
    return NotificationView.of(await caller.store.write(posts.post, draft, caller.key))


@router.get("")
async def list_page(
    caller: Reading,
    *,
    limit: Limit = pages.ROWS_DEFAULT,
    cursor: CursorText = None,
    kind: Annotated[KindText | None, Query(description="Only this kind.")] = None,
    unread: Annotated[
        Flag | None, Query(description="`true`: only unread ones; `false`: only read ones.")
    ] = None,
) -> Listing[NotificationView]:
    """List notifications, newest first."""
    asked = pages.request(
        "notifications", key=(ids.parse,), cursor=cursor, limit=limit, kind=kind, unread=unread
    )
    return Listing[NotificationView].of(await caller.store.read(posts.page, asked))


@router.get("/{notification_id}", responses=raises(NotificationNotFound))
async def get(notification_id: IdText, caller: Reading) -> NotificationView:
    """Get one notification."""
    found = await caller.store.read(posts.get, NotificationId(notification_id))
    return NotificationView.of(found)


@router.post("/{notification_id}/read", responses=raises(NotificationNotFound))
async def mark_read(notification_id: IdText, caller: Working) -> NotificationView:
    """Mark a notification as read. Once is enough; again changes nothing."""
    read = await caller.store.write(posts.mark_read, NotificationId(notification_id), caller.key)
    return NotificationView.of(read)
