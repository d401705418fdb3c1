"""How notifications are kept: rows in, values out. No rule of the room is decided here."""

from collections.abc import Sequence

from coven.core.ids import NotificationId
from coven.core.pages import PageRequest, Scalar
from coven.notifications.model import Draft, Notification
from coven.store import Row, Transaction, View, load

queries = load("coven.notifications")

# Every id is smaller: the first page has nothing to continue from.
_NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_BY_READING: dict[Scalar, str] = {None: "page", True: "page_unread", False: "page_read"}


def insert(tx: Transaction, notification_id: NotificationId, draft: Draft, *, at: str) -> None:
    tx.run(
        queries["insert"],
        id=notification_id,
        kind=draft.kind,
        title=draft.title,
        body=draft.body,
        subject=draft.subject,
        created_at=at,
    )


def find(view: View, notification_id: NotificationId) -> Notification | None:
    row = view.first(queries["get"], id=notification_id)
    return None if row is None else _notification(row)


def mark_read(tx: Transaction, notification_id: NotificationId, *, at: str) -> bool:
    """Whether this was the write that did it."""
    return tx.run(queries["mark_read"], id=notification_id, read_at=at) == 1


def page(view: View, asked: PageRequest) -> Sequence[Notification]:
    """At most `asked.fetch` notifications, newest first."""
    filters = dict(asked.filters)
    values = {"before": asked.after[0] if asked.after else _NEWEST, "limit": asked.fetch}
    name = _BY_READING[filters.get("unread")]
    if "kind" in filters:
        rows = view.all(queries[f"{name}_of_kind"], kind=filters["kind"], **values)
    else:
        rows = view.all(queries[name], **values)
    return [_notification(row) for row in rows]


def _notification(row: Row) -> Notification:
    return Notification(
        notification_id=NotificationId(row["id"]),
        kind=row["kind"],
        title=row["title"],
        body=row["body"],
        subject=row["subject"],
        created_at=row["created_at"],
        read_at=row["read_at"],
    )
