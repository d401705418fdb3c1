"""The daemon's log: read from its files, so it can be read when the daemon cannot speak.

The newest lines are in `covend.log`, older ones in `covend.log.1`, `.2`, …; following goes on in
the new file when the daemon turns the page.
"""

import asyncio
import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import typer

from coven.cli.command import Here, command
from coven.cli.output import json_line, printable
from coven.core.errors import CovenError, Kind

LOG = "covend.log"
LOOK_SECONDS = 0.2


class NoLog(CovenError):
    """There is no log in {place}."""

    code = "NO_LOG"
    kind = Kind.MISSING
    remedy = "A daemon writes one as soon as it is started: `coven up`."


async def logs(
    here: Here,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, metavar="N", help="How many lines.")
    ] = 100,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written from now on.")
    ] = False,
) -> None:
    """Show the daemon's log, newest lines last.

    Works without a daemon. With --json the lines are shown as they were written.
    """
    path = here.project() / ".coven" / LOG
    tell = _tell_json if here.json else _tell
    if not path.exists() and not follow:
        raise NoLog(place=path.parent)
    file = _opened(path)
    for text in [] if file is None else _last(path, file, lines):
        tell(text)
    if follow:
        await _follow(path, file, tell)


def register(app: typer.Typer) -> None:
    """Put the command at the top of the tree."""
    command(app, "logs", example="coven logs --follow --lines 20", local=True)(logs)


def _last(path: Path, file: BinaryIO, count: int) -> list[bytes]:
    """The last whole lines, from older files too; `file` is left where its whole lines end."""
    if count == 0:
        file.seek(0, os.SEEK_END)
        return []
    newest = deque(_whole_lines(file), maxlen=count)
    for number in range(1, 1000):
        older = path.with_name(f"{path.name}.{number}")
        if len(newest) == count or not older.exists():
            break
        with older.open("rb") as rotated:
            earlier = deque(_whole_lines(rotated), maxlen=count - len(newest))
        newest = deque([*earlier, *newest], maxlen=count)
    return list(newest)


async def _follow(path: Path, file: BinaryIO | None, tell: Callable[[bytes], None]) -> None:
    while True:
        if file is not None:
            turned = _is_turned(path, file)
            for text in _whole_lines(file):  # also what came just before the page was turned
                tell(text)
            if turned:
                file.close()
                file = None
        if file is None:
            file = _opened(path)
        await asyncio.sleep(LOOK_SECONDS)  # a file tells nobody that it has grown


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Every line whose end has been written; half a line is left for the next time."""
    while True:
        at = file.tell()
        text = file.readline()
        if not text.endswith(b"\n"):
            file.seek(at)
            return
        yield text[:-1]


def _is_turned(path: Path, file: BinaryIO) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return False  # between two files; look again
    known = os.fstat(file.fileno())
    return (now.st_ino, now.st_dev) != (known.st_ino, known.st_dev) or now.st_size < file.tell()


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _tell_json(text: bytes) -> None:
    record = _record(text)
    json_line(record if record is not None else {"event": text.decode("utf-8", "replace")})


def _tell(text: bytes) -> None:
    record = _record(text)
    if record is None:
        print(printable(text.decode("utf-8", "replace")), flush=True)
        return
    head = [str(record.pop(name, "")) for name in ("timestamp", "level", "event")]
    facts = [f"{name}={_short(value)}" for name, value in record.items()]
    shown = [head[0], f"{head[1]:<8}", head[2], *facts]
    print(printable(" ".join(part for part in shown if part)), flush=True)


def _record(text: bytes) -> dict[str, Any] | None:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
