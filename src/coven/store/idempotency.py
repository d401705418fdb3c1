"""Idempotency keys: a request that is sent again joins the first one instead of acting again.

The first transaction of a use case claims the key together with the id of what it makes, so even a
crash between that transaction and the reply leaves a trace that the retry finds. The doors write
the reply down afterwards and repeat it word for word. Where no transaction does the work, they
claim the key themselves, with `begin`. A key lives for 24 hours.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from coven.core import clock as clocks
from coven.core import ids
from coven.core.errors import CovenError, Kind
from coven.store.queries import queries
from coven.store.transaction import Row, Transaction, View

KEPT = timedelta(hours=24)
BATCH = 1_000
"""How many keys are forgotten in one transaction."""


class IdempotencyMismatch(CovenError):
    """The idempotency key {key!r} was used for another request."""

    code = "IDEMPOTENCY_MISMATCH"
    kind = Kind.INVALID
    remedy = "Use a new key for a new request; repeat a request with its own key and body."


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """Who sent which key with which request."""

    principal: str
    key: str
    request_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a request was answered."""

    status: int
    body: str


def claim(tx: Transaction, key: IdempotencyKey | None, *, makes: str) -> str:
    """Claim the key for the thing with the id `makes`; the id that the key stands for.

    It is another id when the same request came before: then the caller goes on with that thing.
    """
    if key is None:
        return makes
    values = {"principal": key.principal, "key": key.key}
    tx.run(queries["drop_key"], **values, before=clocks.render(tx.now - KEPT))
    landed = tx.run(
        queries["claim_key"],
        **values,
        request_hash=key.request_hash,
        resource_id=makes,
        created_at=clocks.render(tx.now),
    )
    if landed:
        return makes
    row = tx.first(queries["claimed_key"], **values)
    assert row is not None, "a key that could not be inserted is there"
    _check(key, row)
    return str(row["resource_id"])


def recall(view: View, key: IdempotencyKey) -> Reply | None:
    """The reply that this request got before, if it is still known."""
    row = view.first(queries["claimed_key"], principal=key.principal, key=key.key)
    if row is None or row["created_at"] <= clocks.render(view.now - KEPT):
        return None
    _check(key, row)
    if row["status"] is None:
        return None
    return Reply(status=row["status"], body=row["reply"])


def begin(tx: Transaction, key: IdempotencyKey) -> Reply | None:
    """Claim the key for work that no transaction does; the reply if the work is done already."""
    claim(tx, key, makes=ids.new())
    return recall(tx, key)


def release(tx: Transaction, key: IdempotencyKey) -> None:
    """Take back a claim that was not answered, so that the key is free for another request."""
    tx.run(
        queries["release_key"],
        principal=key.principal,
        key=key.key,
        request_hash=key.request_hash,
    )


def remember(tx: Transaction, key: IdempotencyKey, reply: Reply) -> None:
    """Write down what the request was answered; the first answer stays."""
    tx.run(
        queries["answer_key"],
        principal=key.principal,
        key=key.key,
        request_hash=key.request_hash,
        status=reply.status,
        reply=reply.body,
    )


def retirable(view: View, before: datetime) -> int:
    """How many keys are older than this."""
    row = view.first(queries["count_old_keys"], before=clocks.render(before))
    return int(row["found"]) if row else 0


def retire(tx: Transaction, before: datetime) -> int:
    """Forget the oldest batch of keys that are older than this; how many that were."""
    return tx.run(queries["retire_keys"], before=clocks.render(before), limit=BATCH)


def _check(key: IdempotencyKey, row: Row) -> None:
    if row["request_hash"] != key.request_hash:
        raise IdempotencyMismatch(key=key.key)
