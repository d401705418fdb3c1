"""The reference for durable writes: group commit in its barest form, and the same one by one.

Writers on an event loop wait for their commit; one thread takes whoever waits, runs the same
statements that the room runs (their text is loaded from the room), commits, and wakes them. There
are no savepoints, no checks, no limits, no feed: what is left is what the database costs.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from coven.store import load

GROUP_MAX = 60
PROJECT = "default"
AT = "2030-01-31T12:00:00.000000Z"
TITLE = "The task waits for you"
BODY = "x" * 500

_notifications = load("coven.notifications")
_store = load("coven.store")
STATEMENTS = {
    "lock": _store["lock"],
    "insert": _notifications["insert"],
    "append": _store["append"],
    "advance": _store["advance"],
}


class Database(Protocol):
    """What the bare group commit writes to; the methods are called by one thread."""

    def commit(self, numbers: Sequence[int]) -> None:
        """Write these messages in one durable transaction."""
        ...

    def close(self) -> None: ...


def row(number: int) -> dict[str, Any]:
    """The values of one message."""
    return {
        "project": PROJECT,
        "id": f"0191e2a4-7c3e-7b52-9d1a-{number:012x}",
        "kind": "task.blocked",
        "title": TITLE,
        "body": BODY,
        "subject": None,
        "created_at": AT,
    }


def event(number: int) -> dict[str, Any]:
    """The values of the event that tells it."""
    told = f"0191e2a4-7c3e-7b52-9d1a-{number:012x}"
    data = f'{{"id":"{told}","kind":"task.blocked","title":"{TITLE}","subject":null}}'
    return {
        "project": PROJECT,
        "seq": number,
        "type": "user.notification",
        "entity": "notification",
        "entity_id": told,
        "timestamp": AT,
        "data": data,
    }


class GroupCommit:
    """Waiting writers on one side, one thread that commits on the other."""

    def __init__(self, make: Callable[[], Database], *, first: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._number = first
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._writing = False
        self._groups: queue.SimpleQueue[list[tuple[int, asyncio.Future[None]]]] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, args=(make,))
        self._thread.start()

    async def write(self) -> None:
        """One message; returns when it is durable."""
        waiter = self._loop.create_future()
        self._number += 1
        self._waiting.append((self._number, waiter))
        if not self._writing:
            self._writing = True
            self._loop.call_soon(self._start)
        await waiter

    def _start(self) -> None:
        group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
        self._groups.put(group)

    def _work(self, make: Callable[[], Database]) -> None:
        database = make()
        while group := self._groups.get():
            database.commit([number for number, _ in group])
            self._loop.call_soon_threadsafe(self._finish, group)
        database.close()

    def _finish(self, group: list[tuple[int, asyncio.Future[None]]]) -> None:
        for _, waiter in group:
            waiter.set_result(None)
        self._writing = bool(self._waiting)
        if self._waiting:
            self._loop.call_soon(self._start)

    async def close(self) -> int:
        """The number of the last message."""
        self._groups.put([])
        await asyncio.to_thread(self._thread.join)
        return self._number


def one_by_one(database: Database, seconds: float, *, first: int) -> list[float]:
    """One commit for each message: how long each took."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    number = first
    while (began := time.perf_counter()) < until:
        number += 1
        database.commit([number])
        took.append(time.perf_counter() - began)
    return took
