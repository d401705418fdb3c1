"""The store: one database on two engines, one event log, one lock, one folder of blobs.

What rooms use: `Store.write` and `Store.read` with plain functions, `Transaction`, `View`, `Event`,
`load` for their named SQL, and the feed of events. It is not a cache and not an object mapper: a
room writes its own SQL and gives its own rows their meaning.
"""

from coven.store.statements import Queries, Statement, load
from coven.store.store import Store, open_store
from coven.store.transaction import Event, Row, Transaction, Value, View

__all__ = [
    "Event",
    "Queries",
    "Row",
    "Statement",
    "Store",
    "Transaction",
    "Value",
    "View",
    "load",
    "open_store",
]
