"""Recovery: what each room puts right after a crash, in the order of the floors.

Each entry is idempotent: a second crash in the middle of it re-runs it safely. The counts of all of
them are told in one `daemon.recovered` at each start.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from coven.core.ids import NodeId
from coven.daemon.loops import Counts
from coven.daemon.model import DaemonRecovered, DaemonStopped
from coven.store import Store, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What one room does at boot with what a crash left."""

    room: str
    run_once: Callable[[Store], Awaitable[Counts]]


RECOVERIES: Sequence[Recovery] = ()
"""From the floor up. Rooms that keep things on a machine add theirs here."""


async def run(
    store: Store, node: NodeId, *, version: str, clean: bool, recoveries: Sequence[Recovery]
) -> Counts:
    """Recover room by room, then write down that this daemon has started."""
    counts: Counts = {}
    for recovery in recoveries:
        for what, number in (await recovery.run_once(store)).items():
            counts[f"{recovery.room}.{what}"] = number
    event = DaemonRecovered(entity_id=node, version=version, clean=clean, recovered=counts)
    await store.write(tell, event)
    return counts


def tell(tx: Transaction, event: DaemonRecovered | DaemonStopped) -> None:
    """Write down a start or an end, which are facts of their own."""
    tx.emit(event)
