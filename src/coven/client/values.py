"""What the daemon answers, as frozen values.

A value is read from JSON by its field names: fields that this client does not know are left aside,
so a newer daemon does not break an older client. Instants become aware datetimes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from coven.client.errors import UnreadableReply
from coven.core import clock
from coven.core.errors import CovenError
from coven.core.pages import Page

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact. `id` is the cursor that continues after it."""

    id: str
    seq: int
    type: str
    entity: str
    entity_id: str
    timestamp: datetime
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync:
    """Some events before `cursor` cannot be told any more: load `snapshot`, then go on."""

    cursor: str
    snapshot: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that is going on, from one read transaction; `cursor` continues after it."""

    tasks: Sequence[Mapping[str, Any]]
    agents: Sequence[Mapping[str, Any]]
    workflows: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]
    seq: int
    cursor: str
    timestamp: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What a person must be told."""

    id: str
    kind: str
    title: str
    body: str | None = None
    subject: str | None = None
    created_at: datetime
    read_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the daemon is well, and which one it is."""

    status: str
    version: str
    uptime_seconds: float
    store: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Which Coven answers."""

    name: str
    version: str
    api: str
    schema_version: int
    python: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Some periodic work of the daemon, and how it fared since the daemon started."""

    name: str
    meaning: str = ""
    every: str
    passes: int
    failures: int
    last_run_at: datetime | None
    last_counts: Mapping[str, int]
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """One rule of what is kept how long, and how many rows of a project it is about."""

    name: str
    table: str
    meaning: str = ""
    older_than: str
    project: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCheck:
    """What a check of the whole database found."""

    ok: bool
    problems: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A whole copy of the database, on the daemon's machine."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A key to the daemon. Its text is told once, when it is made."""

    id: str
    name: str
    scope: str
    created_at: datetime
    created_by: str
    revoked_at: datetime | None = None
    token: str | None = field(default=None, repr=False)


def read(kind: type[T], body: Any) -> T:
    """The value that a JSON object spells, or UnreadableReply."""
    if not isinstance(body, dict):
        raise UnreadableReply(problem=f"{kind.__name__} is not an object")
    given = cast("dict[str, Any]", body)
    values: dict[str, Any] = {}
    for name, (required, convert) in _readers(kind).items():
        if name in given:
            try:
                values[name] = convert(given[name])
            except (CovenError, TypeError, AttributeError) as error:
                raise UnreadableReply(problem=f"{kind.__name__}.{name} is malformed") from error
        elif required:
            raise UnreadableReply(problem=f"{kind.__name__} lacks {name}")
    return kind(**values)


def read_page(kind: type[T], body: Any) -> Page[T]:
    """The page that a list answers."""
    try:
        items = [read(kind, item) for item in body["items"]]
        return Page(items=items, next_cursor=body.get("next_cursor"), has_more=body["has_more"])
    except (TypeError, KeyError, AttributeError) as error:
        raise UnreadableReply(problem="the reply is not a page") from error


def render(value: Any) -> Any:
    """A value as JSON again, as the daemon would write it."""
    if isinstance(value, datetime):
        return clock.render(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: render(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {key: render(part) for key, part in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [render(part) for part in cast("Sequence[Any]", value)]
    return value


@cache
def _readers(kind: type[Any]) -> dict[str, tuple[bool, Callable[[Any], Any]]]:
    hints = get_type_hints(kind)
    return {
        part.name: (
            part.default is MISSING and part.default_factory is MISSING,
            _converter(hints[part.name]),
        )
        for part in fields(kind)
    }


def _converter(hint: Any) -> Callable[[Any], Any]:
    if hint is datetime:
        return clock.parse
    if datetime in get_args(hint):
        return lambda text: None if text is None else clock.parse(text)
    if get_origin(hint) is Sequence:
        return tuple
    return lambda value: value
