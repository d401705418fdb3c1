"""What one does with notifications: post, get, list, mark as read.

Each is a transaction, a plain function that the store runs: `await store.write(posts.post, draft)`.
A room above calls `posts.post(tx, draft)` inside its own, so that the fact and the telling of it
are committed together.
"""

from json.encoder import encode_basestring

from coven.core import clock, ids
from coven.core.ids import NotificationId
from coven.core.pages import Page, PageRequest, cut
from coven.notifications import records
from coven.notifications.model import (
    Draft,
    Notification,
    NotificationNotFound,
    NotificationRead,
    UserNotification,
)
from coven.store import Transaction, View, idempotency
from coven.store.idempotency import IdempotencyKey

# What the fields of an item besides its texts weigh in JSON, at most: names, quotes, id, two times.
_ITEM_BYTES_BESIDES_TEXT = 240


def post(tx: Transaction, draft: Draft, key: IdempotencyKey | None = None) -> Notification:
    """Tell a person something. The same key again gives the notification it made before."""
    fresh = NotificationId(ids.new())
    mine = NotificationId(idempotency.claim(tx, key, makes=fresh))
    if mine != fresh:
        return get(tx, mine)
    at = clock.render(tx.now)
    records.insert(tx, mine, draft, at=at)
    tx.emit(
        UserNotification(entity_id=mine, kind=draft.kind, title=draft.title, subject=draft.subject)
    )
    return Notification(
        notification_id=mine,
        kind=draft.kind,
        title=draft.title,
        body=draft.body,
        subject=draft.subject,
        created_at=at,
        read_at=None,
    )


def get(view: View, notification_id: NotificationId) -> Notification:
    """The notification, or NotificationNotFound."""
    found = records.find(view, notification_id)
    if found is None:
        raise NotificationNotFound(notification_id=notification_id)
    return found


def page(view: View, asked: PageRequest) -> Page[Notification]:
    """Some notifications, newest first; the filters `kind` and `unread` may narrow them."""
    rows = records.page(view, asked)
    return cut(asked, rows, key=lambda item: (item.notification_id,), size=_weight)


def mark_read(
    tx: Transaction, notification_id: NotificationId, key: IdempotencyKey | None = None
) -> Notification:
    """Somebody has read it. Reading it again changes nothing and tells nobody."""
    idempotency.claim(tx, key, makes=notification_id)
    if records.mark_read(tx, notification_id, at=clock.render(tx.now)):
        tx.emit(NotificationRead(entity_id=notification_id))
    return get(tx, notification_id)


def _weight(item: Notification) -> int:
    # As JSON, where a line break is two bytes and other control characters are six.
    texts = (item.kind, item.title, item.body or "", item.subject or "")
    return _ITEM_BYTES_BESIDES_TEXT + sum(len(encode_basestring(text).encode()) for text in texts)
