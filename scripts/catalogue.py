"""Facts about the code, collected from the code itself: what the generated pages are made of.

Importing every module fills the catalogues of errors, events and failpoints; the rest is read from
the objects that the daemon and the command line are built of, so a page cannot name what is not
there. Nothing is started: no store, no server.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import apsw
from fastapi import APIRouter, params
from fastapi.routing import APIRoute

import coven
from coven.cli.app import command as command_line
from coven.config import SETTINGS, Setting
from coven.core import errors, failpoints
from coven.doors.callers import Needs
from coven.store.transaction import Event, event_types

SOURCE = Path(coven.__file__).parent


def modules() -> Iterator[ModuleType]:
    """Every module of the package, imported; programs (`__main__`) are not."""
    for found in pkgutil.walk_packages([str(SOURCE)], prefix="coven."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def room_of(module: str) -> str:
    """`coven.store.transaction` belongs to `store`."""
    return module.split(".")[1]


def every_error() -> list[type[errors.CovenError]]:
    """Every error with a code, by code."""
    list(modules())
    return [error for error in errors.catalogue().values() if error.__module__.startswith("coven.")]


def every_event() -> list[type[Event]]:
    """Every kind of event, by type."""
    list(modules())
    return [event for event in event_types().values() if event.__module__.startswith("coven.")]


def event_data(event: type[Event]) -> dict[str, str]:
    """The fields of an event's data with their types as they are written."""
    return {
        field.name: _type_text(field.type) for field in fields(event) if field.name != "entity_id"
    }


def every_failpoint() -> dict[str, str]:
    """Every failpoint with its meaning."""
    list(modules())
    return failpoints.declared()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way in over HTTP."""

    method: str
    path: str
    summary: str
    scope: str
    """What a token must allow; empty where none is needed."""
    tag: str
    module: str

    @property
    def name(self) -> str:
        """`POST /api/v1/notifications`."""
        return f"{self.method} {self.path}"


def every_route() -> list[Route]:
    """Every route of every room and of the daemon, by room and path."""
    found = {
        (route.path, route.method): route
        for module in modules()
        for router in _routers(module)
        for api_route in router.routes
        if isinstance(api_route, APIRoute)
        for route in _routes_of(api_route)
    }
    return sorted(found.values(), key=lambda route: (route.tag, route.path, route.method))


def every_setting() -> tuple[Setting, ...]:
    """Every setting, in the order of the code."""
    return SETTINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of `coven`, with what can be written behind it."""

    name: str
    help: str
    options: tuple[tuple[str, str], ...]
    """How each argument or option is written, and what it does."""


def every_command() -> list[Command]:
    """Every command that does something, by its full name."""
    app = command_line()
    return sorted(_commands("coven", app, None), key=lambda command: command.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Some periodic work of the daemon, as it is written where it is made."""

    name: str
    meaning: str
    module: str


def every_loop() -> list[Loop]:
    """Every loop, by name: found where `Loop(name=…, meaning=…, run_once=…)` is called."""
    found = [
        Loop(
            name=_constant(given["name"]), meaning=_constant(given["meaning"]), module=_module(path)
        )
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Loop"
        for given in ({keyword.arg: keyword.value for keyword in node.keywords},)
        if {"name", "meaning", "run_once"} <= set(given)
    ]
    return sorted(found, key=lambda loop: loop.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as it stands after every migration."""

    name: str
    room: str
    migrations: tuple[str, ...]
    prose: str
    columns: tuple[tuple[str, str, bool], ...]
    """Name, type on the embedded engine, and whether it may be NULL."""


def migrations() -> list[Path]:
    """The migrations of the embedded engine, in the order in which they run."""
    return sorted(SOURCE.glob("*/migrations/*.sqlite.sql"), key=lambda path: path.name)


def every_table() -> list[Table]:
    """Every table, read from a database in memory on which every migration has run."""
    connection = apsw.Connection(":memory:")
    connection.execute("ATTACH ':memory:' AS kb")
    touched: dict[str, list[Path]] = {}
    for path in migrations():
        text = path.read_text(encoding="utf-8")
        connection.execute(text)
        for name in re.findall(r"(?:CREATE|ALTER)\s+TABLE\s+kb\.(\w+)", text):
            touched.setdefault(name, []).append(path)
    return [_table(connection, name, paths) for name, paths in sorted(touched.items())]


def _table(connection: apsw.Connection, name: str, paths: list[Path]) -> Table:
    rows: list[Any] = list(connection.execute(f"PRAGMA kb.table_info({name})"))
    return Table(
        name=name,
        room=paths[0].parent.parent.name,
        migrations=tuple(dict.fromkeys(path.name.split(".")[0] for path in paths)),
        prose=_prose_before(paths[0].read_text(encoding="utf-8"), name),
        columns=tuple((row[1], row[2].lower(), not row[3] and not row[5]) for row in rows),
    )


def _prose_before(text: str, table: str) -> str:
    """The comment that stands right above a table, or the one at the top of its file."""
    lines = text.splitlines()
    at = next(
        i for i, line in enumerate(lines) if re.match(rf"CREATE\s+TABLE\s+kb\.{table}\b", line)
    )
    told: list[str] = []
    while at and lines[at - 1].startswith("--"):
        at -= 1
        told.insert(0, lines[at].removeprefix("--").strip())
    return " ".join(line for line in told if not line.startswith("phase:"))


def _type_text(annotation: object) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation)


class _Absent:
    """Stands for the daemon while its routes are listed, not run: everything about it is this."""

    def __getattr__(self, name: str) -> "_Absent":
        return self

    def __call__(self, *args: object, **kwargs: object) -> "_Absent":
        return self


def _routers(module: ModuleType) -> Iterator[APIRouter]:
    """The routers that a module declares, or makes when it is given what they answer for."""
    if module.__name__.startswith("coven.doors.http"):
        return
    for name, found in vars(module).items():
        if isinstance(found, APIRouter):
            yield found
        elif inspect.isfunction(found) and found.__module__ == module.__name__:
            returned = str(inspect.signature(found).return_annotation)
            if "APIRouter" in returned and not name.startswith("_"):
                made = found(*(_Absent() for _ in inspect.signature(found).parameters))
                yield from made if isinstance(made, list | tuple) else [made]


def _routes_of(route: APIRoute) -> Iterator[Route]:
    for method in sorted(route.methods):
        yield Route(
            method=method,
            path=route.path_format,
            summary=route.summary or _first_sentence(route.endpoint),
            scope=_scope(route),
            tag=str(route.tags[0]) if route.tags else room_of(route.endpoint.__module__),
            module=route.endpoint.__module__,
        )


def _scope(route: APIRoute) -> str:
    for annotation in get_type_hints(route.endpoint, include_extras=True).values():
        for mark in get_args(annotation)[1:]:
            if isinstance(mark, params.Depends) and isinstance(mark.dependency, Needs):
                needs = mark.dependency
                return needs.scope.value + (", whole daemon" if needs.whole_daemon else "")
    return ""


def _commands(name: str, command: Any, parent: Any) -> Iterator[Command]:
    context = command.context_class(command, info_name=name.split()[-1], parent=parent)
    if hasattr(command, "list_commands"):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            if not found.hidden:
                yield from _commands(f"{name} {part}", found, context)
        return
    records = (parameter.get_help_record(context) for parameter in command.params)
    yield Command(
        name=name,
        help=inspect.cleandoc(command.help or ""),
        options=tuple(record for record in records if record is not None),
    )


def _first_sentence(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").split("\n\n")[0]


def _constant(node: ast.expr) -> str:
    return str(ast.literal_eval(node))


def _module(path: Path) -> str:
    return ".".join(("coven", *path.relative_to(SOURCE).with_suffix("").parts))


SUBJECTS: dict[str, Callable[[], list[str]]] = {
    "errors": lambda: [error.code for error in every_error()],
    "events": lambda: [event.type for event in every_event()],
    "routes": lambda: [route.name for route in every_route()],
    "settings": lambda: [setting.name for setting in every_setting()],
    "commands": lambda: [command.name for command in every_command()],
    "loops": lambda: [loop.name for loop in every_loop()],
    "failpoints": lambda: list(every_failpoint()),
    "tables": lambda: [f"kb.{table.name}" for table in every_table()],
}
"""What the reference has a page about, and the names that must stand on it."""
