"""A transaction is a plain function, and this is what it is given.

    def post(tx: Transaction, draft: Draft) -> Notification:
        ...
        tx.run(queries["insert"], id=..., created_at=instants.render(tx.now))
        tx.emit(NotificationPosted(...))

    notification = await store.write(post, draft)

The function cannot await, so it cannot touch the network, a process or a file between its reads and
its writes. It may run more than once and has no effect but its writes. What it returns, or raises,
reaches its caller only after the commit that holds it is on disk.

Values go in and come out as text, numbers, bytes or None on both engines: instants are the fixed
text of `core.clock`, ids and JSON are text. The records of a room give them their meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Protocol

from coven.core.ids import ProjectId
from coven.store.statements import Statement

Value = str | int | float | bytes | None
Row = Mapping[str, Any]

_event_types: dict[str, type["Event"]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact. Subclasses live in a room's `model.py`; their docstring says what happened.

    `type` is `<entity>.<past tense>`; `entity` and `entity_id` say whose fact it is; every other
    field is the event's data: ids and small facts, never bodies.
    """

    type: ClassVar[str]
    entity: ClassVar[str]
    entity_id: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "entity" not in cls.__dict__:
            cls.entity = cls.type.partition(".")[0]
        # A slotted dataclass is made twice (once without slots), so only the name is compared.
        known = _event_types.get(cls.type)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(f"two events are called {cls.type!r}: {known}, {cls}")
        _event_types[cls.type] = cls

    def data(self) -> dict[str, Any]:
        """What the event carries besides whose fact it is."""
        return {name: getattr(self, name) for name in _names(type(self))}


def event_types() -> dict[str, type[Event]]:
    """Every event that has been imported, by type."""
    return dict(sorted(_event_types.items()))


@cache
def _names(kind: type[Event]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name != "entity_id")


class View(Protocol):
    """One consistent view of the store; what `store.read(f)` gives to `f`."""

    @property
    def project(self) -> ProjectId:
        """Whose rows this is about. Bound to `:project` in every statement."""
        ...

    @property
    def now(self) -> datetime:
        """The store's time: the core clock when embedded, the database's on PostgreSQL."""
        ...

    def all(self, statement: Statement, **values: Value) -> list[Row]:
        """Every row of the answer."""
        ...

    def first(self, statement: Statement, **values: Value) -> Row | None:
        """The first row of the answer, if there is one."""
        ...


class Transaction(View, Protocol):
    """One function's part of a commit; what `store.write(f)` gives to `f`."""

    def run(self, statement: Statement, **values: Value) -> int:
        """How many rows the statement changed: a guarded write says whether it landed."""
        ...

    def emit(self, event: Event) -> None:
        """Tell a fact. It gets its number and its time just before the commit."""
        ...
