"""The words and the tables of `docs/reference/`: one function for each page.

A page whose subject does not exist yet is not written.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from scripts import catalogue

T = TypeVar("T")
NOTE = "<!-- Written by `make docs` from the code. Change the code, not this page. -->"


def rendered() -> dict[str, str]:
    """The text of each page, by name; empty pages are left out."""
    writers: dict[str, Callable[[], str]] = {
        "errors": errors,
        "events": events,
        "routes": routes,
        "settings": settings,
        "commands": commands,
        "loops": loops,
        "failpoints": failpoints,
        "tables": tables,
    }
    texts = {name: write() for name, write in writers.items()}
    return {name: text for name, text in texts.items() if text}


def errors() -> str:
    """Every error: what it says, and what to do about it."""
    rows = [
        (f"`{error.code}`", error.kind.value, _message(error.__doc__), error.remedy)
        for error in catalogue.every_error()
    ]
    return _page(
        "Errors",
        'Every error that Coven gives, on every door, in one shape: `{"error": {"code", '
        '"message", "details", "remedy"}}`. Programs branch on `code`, which never changes '
        "once released; people read the message and do what the remedy says.",
        [_table(("Code", "Kind", "Message", "Remedy"), rows)],
    )


def events() -> str:
    """Every event, by the room that tells it."""
    found = catalogue.every_event()
    sections = [
        f"## {room}\n\n"
        + _table(
            ("Type", "What happened", "Data"),
            [
                (f"`{event.type}`", _sentence(event.__doc__), _data(catalogue.event_data(event)))
                for event in members
            ],
        )
        for room, members in _by(found, lambda event: catalogue.room_of(event.__module__))
    ]
    return _page(
        "Events",
        "Every fact that Coven tells, written in the transaction that made it true. "
        "`GET /events` replays and streams them.",
        sections,
    )


def routes() -> str:
    """Every way in over HTTP, by the word of its room."""
    sections = [
        f"## {tag}\n\n"
        + _table(
            ("Route", "What it does", "Scope"),
            [(f"`{route.name}`", route.summary, route.scope or "none") for route in members],
        )
        for tag, members in _by(catalogue.every_route(), lambda route: route.tag)
    ]
    return _page(
        "Routes",
        "Every way in over HTTP. A running daemon tells more: `/docs` is a page to try them on, "
        "`/openapi.json` describes every field. Every route that changes something accepts an "
        "`Idempotency-Key`. The scope is what a token must allow, at the least; what concerns the "
        "whole daemon is for its owner, and no token of one project will do.",
        sections,
    )


def settings() -> str:
    """Every setting, with each place where it can be made."""
    rows = [
        (
            f"`{setting.name}`",
            setting.meaning,
            f"`{setting.default}`",
            setting.wanted,
            f"`{setting.environment}`",
            f"`{setting.flag}`" if setting.flag else "",
        )
        for setting in catalogue.every_setting()
    ]
    return _page(
        "Settings",
        "What can be set in `.coven/config.json`, in the environment, or by a flag of `coven up`. "
        "The flag wins over the environment, and the environment over the file. "
        "`coven config show` says what holds and where it came from.",
        [_table(("Name", "What it means", "Default", "Allowed", "Environment", "Flag"), rows)],
    )


def commands() -> str:
    """Every command with its arguments and options; what all of them take is said once."""
    found = catalogue.every_command()
    shared = [option for option in found[0].options if all(option in one.options for one in found)]
    sections = ["## Every command", _options(shared)] if shared else []
    for command in found:
        own = [option for option in command.options if option not in shared]
        sections += [f"## `{command.name}`", _shown(command.help), _options(own) if own else ""]
    return _page(
        "Commands",
        "Every command of `coven`. Each one says the same about itself with `--help`.",
        [section for section in sections if section],
    )


def _options(options: Sequence[tuple[str, str]]) -> str:
    return _table(("Written", "What it does"), [(f"`{how}`", what) for how, what in options])


def loops() -> str:
    """Every piece of periodic work."""
    rows = [
        (f"`{loop.name}`", loop.meaning, f"`{catalogue.room_of(loop.module)}`")
        for loop in catalogue.every_loop()
    ]
    return _page(
        "Loops",
        "The work that the daemon does by itself, at its start and then again and again. Each loop "
        "is named after the ailment it cures; running one more often than needed changes nothing.",
        [_table(("Name", "What it does", "Room"), rows)] if rows else [],
    )


def failpoints() -> str:
    """Every place where a test may make the process die."""
    rows = [(f"`{name}`", meaning) for name, meaning in catalogue.every_failpoint().items()]
    return _page(
        "Failpoints",
        "Named places where a test may make the daemon die, fail or stand still. They do nothing "
        "unless `COVEN_FAILPOINTS` armed them when the process started.",
        [_table(("Name", "Where it stands"), rows)] if rows else [],
    )


def tables() -> str:
    """Every table with its columns."""
    return _page(
        "Tables",
        "The schema `kb` as it stands after every migration, with the types of the embedded "
        "engine. On PostgreSQL the names are the same.",
        [_section_of(table) for table in catalogue.every_table()],
    )


def _section_of(table: catalogue.Table) -> str:
    made = ", ".join(f"`{name}`" for name in table.migrations)
    columns = [(f"`{name}`", kind, "yes" if empty else "") for name, kind, empty in table.columns]
    parts = [
        f"## `kb.{table.name}`",
        table.prose,
        f"Room `{table.room}`; migrations: {made}.",
        _table(("Column", "Type", "May be empty"), columns),
    ]
    return "\n\n".join(part for part in parts if part)


def _page(title: str, intro: str, sections: Sequence[str]) -> str:
    if not sections:
        return ""
    return "\n\n".join([NOTE, f"# {title}", intro, *(part.rstrip() for part in sections)]) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _sentence(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().split("\n\n")[0].split())


def _message(template: str | None) -> str:
    """A message with the words that are filled in shown as ‹words›."""
    return re.sub(r"\{(\w+)[^}]*\}", r"‹\1›", _sentence(template))


def _shown(text: str) -> str:
    """Help text as it is shown: a form feed or a backspace only steers the terminal."""
    return text.replace("\f", "").replace("\b\n", "").strip()


def _data(columns: dict[str, str]) -> str:
    return ", ".join(f"`{name}`: {kind}" for name, kind in columns.items())


def _by(items: Iterable[T], key: Callable[[T], str]) -> list[tuple[str, list[T]]]:
    return [(name, list(members)) for name, members in groupby(sorted(items, key=key), key=key)]
