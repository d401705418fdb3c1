"""Output: results on standard output, everything about getting them on the error stream.

With `--json` one document, or one line for each event. For a person plain lines and tables;
colours and spinners only on a terminal.
"""

import json
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import typer

from coven.core import terminal
from coven.core.terminal import line, printable

if TYPE_CHECKING:
    from coven.client import Event

__all__ = [
    "aside",
    "busy",
    "document",
    "event",
    "is_coloured",
    "json_line",
    "line",
    "printable",
    "table",
]

_LINE_BREAKS = str.maketrans({"\n": "\\n", "\t": "\\t"})


def document(value: Any) -> None:
    """One JSON document."""
    terminal.document(_as_json(value))


def json_line(value: Any) -> None:
    """One line of JSON, at once."""
    print(json.dumps(_as_json(value), ensure_ascii=False, separators=(",", ":")), flush=True)


def aside(text: str) -> None:
    """A line about what is going on, which is not part of the result."""
    print(printable(text), file=sys.stderr, flush=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under headings; where nobody looks, tabs and nothing cut short."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [list(columns), *cells]:
            print("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        # Ids are there to be copied, so they are never cut.
        shown.add_column(name, no_wrap=name in ("id", "name"), overflow="fold")
    for row in cells:
        shown.add_row(*(Text(cell) for cell in row))
    Console().print(shown)


def event(happened: "Event") -> None:
    """An event as one line, at once."""
    at = happened.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    facts = " ".join(
        f"{name}={_one_line(_text(value))}"
        for name, value in sorted(happened.data.items())
        if value is not None
    )
    parts = [at, f"#{happened.seq}", happened.type, happened.entity_id]
    parts = [_one_line(part) for part in parts]
    if is_coloured(sys.stdout):
        parts[0] = typer.style(parts[0], dim=True)
        parts[1] = typer.style(parts[1], dim=True)
        parts[2] = typer.style(parts[2], fg="cyan")
    print("  ".join([*parts, facts] if facts else parts), flush=True)


@contextmanager
def busy(text: str) -> Generator[None]:
    """Show that something long is going on, on a terminal's error stream only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def is_coloured(stream: TextIO) -> bool:
    """Whether somebody looks at this stream who wants colours."""
    wanted = not os.environ.get("NO_COLOR")  # noqa: TID251 - a convention between terminal and program
    return wanted and stream.isatty()


def _one_line(text: str) -> str:
    return printable(text).translate(_LINE_BREAKS)


def _cell(value: Any) -> str:
    return _one_line(_text(value))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping | list | tuple | bool):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _as_json(value: Any) -> Any:
    from coven.client.values import render

    return render(value)
