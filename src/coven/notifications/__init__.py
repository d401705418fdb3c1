"""Notifications: what a person must be told, kept until somebody has read it.

Any room may post one, in the transaction of the fact that it tells about, so a person is told of
nothing that did not happen. A notification is a row here, an event `user.notification`, and a line
wherever a person is looking. It is not a question (nobody waits for an answer: `questions`), not a
log line, and not a delivery service: who forwards notifications to a phone listens to the events.

Above it stand all the rooms that have something to tell; below it only `doors` and the store. It is
also the smallest complete room of the house: who makes a room starts by reading this folder.
"""

from coven.notifications.model import Draft, Notification, NotificationNotFound
from coven.notifications.posts import get, mark_read, post

__all__ = ["Draft", "Notification", "NotificationNotFound", "get", "mark_read", "post"]
