"""Repeats: a request that comes again with its Idempotency-Key joins the first one.

Most routes hand `caller.key` to a use case, whose first transaction claims it with the id of what
it makes, so that the two are there together or not at all. A route without such a transaction (a
check, a backup, the end of the daemon) says so, and its key is claimed here before it acts. A crash
in between leaves a claim without a reply, and the retry acts again: what such a route does may be
done twice, but never twice at once by this daemon.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import structlog

from coven.core.errors import CovenError
from coven.doors.access import Principal
from coven.doors.answers import JSON, Answer
from coven.doors.arrival import Arrival
from coven.doors.errors import Header, MalformedKey
from coven.store import Store, idempotency
from coven.store.idempotency import IdempotencyKey, Reply

_KEY = re.compile(rb"[\x21-\x7e]{1,200}")
_REPLAYED: Header = (b"idempotency-replayed", b"true")

Act = Callable[[], Awaitable[Answer]]

log = structlog.get_logger("coven.doors")


def key_of(arrival: Arrival, principal: Principal, body: bytes) -> IdempotencyKey:
    """The key that a request carries. `body` is its body as it was understood."""
    raw = arrival.headers[b"idempotency-key"]
    if _KEY.fullmatch(raw) is None:
        raise MalformedKey()
    parts = (
        arrival.scope["method"].encode(),
        arrival.scope["path"].encode("utf-8", "backslashreplace"),
        arrival.scope["query_string"],
        body,
    )
    request_hash = hashlib.sha256(b"\x00".join(parts)).hexdigest()
    return IdempotencyKey(principal=principal.identity, key=raw.decode(), request_hash=request_hash)


class Repeats:
    """The requests of one route that carry a key."""

    def __init__(self, template: str, *, claimed_at_door: bool) -> None:
        """`claimed_at_door` is for a route whose use case does not claim the key itself."""
        self._template = template
        self._claimed_at_door = claimed_at_door
        # Requests with one key take turns; a turn is forgotten when nobody has or awaits it.
        self._turns: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def once(self, key: IdempotencyKey, store: Store, act: Act) -> Answer:
        """Repeat the reply that the key got before; or act, and write the reply down."""
        before = await store.read(idempotency.recall, key)
        if before is not None:
            return _replayed(before)
        if not self._claimed_at_door:
            return await self._act(key, store, act)
        async with self._turns.setdefault((store.project, key.principal, key.key), asyncio.Lock()):
            before = await store.write(idempotency.begin, key)
            if before is not None:
                return _replayed(before)
            try:
                return await self._act(key, store, act)
            except CovenError:
                await self._free(key, store)
                raise

    async def _act(self, key: IdempotencyKey, store: Store, act: Act) -> Answer:
        answer = await act()
        if answer.is_kept:
            reply = Reply(status=answer.status, body=answer.body.decode())
            try:
                await store.write(idempotency.remember, key, reply)
            except CovenError as error:
                # The work is done; a retry joins it through the claim, or may do it again.
                log.warning("reply_not_remembered", code=error.code, route=self._template)
        return answer

    async def _free(self, key: IdempotencyKey, store: Store) -> None:
        """A request that was refused uses up no key."""
        try:
            await store.write(idempotency.release, key)
        except CovenError as error:
            # The same request can still be sent again; only no other one with this key.
            log.warning("key_not_freed", code=error.code, route=self._template)


def _replayed(reply: Reply) -> Answer:
    headers = [JSON, _REPLAYED] if reply.body else [_REPLAYED]
    return Answer(reply.status, reply.body.encode(), headers)
