"""Retention: what a room keeps for how long, as data.

A room gives its rules; `daemon.retention` counts and sweeps by them, at the start and every hour.
A rule deletes in bounded batches, each a transaction of its own, so a long-forgotten store is
cleaned without holding up its writers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from coven.store import events, idempotency
from coven.store.transaction import Transaction, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is kept for a while."""

    name: str
    table: str
    meaning: str
    older_than: timedelta
    count: Callable[[View, datetime], int]
    """How many rows a sweep would delete, given the instant before which they are too old."""
    sweep: Callable[[Transaction, datetime], int]
    """Delete a batch of them; how many that were. Nothing is left when it answers 0."""


def rules(*, event_retention: timedelta) -> list[Rule]:
    """What the store itself keeps for a while."""
    return [
        Rule(
            name="events",
            table="events",
            meaning="Events that nobody can replay any more; readers behind them get a resync.",
            older_than=event_retention,
            count=events.retirable,
            sweep=events.retire,
        ),
        Rule(
            name="idempotency_keys",
            table="idempotency_keys",
            meaning="Keys of requests that are too old to be repeated.",
            older_than=idempotency.KEPT,
            count=idempotency.retirable,
            sweep=idempotency.retire,
        ),
    ]
