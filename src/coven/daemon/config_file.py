"""Writing `.coven/config.json`: the defaults of the store are put where they are missing.

The file belongs to its user. Missing keys are inserted into the text as it stands, so every other
value, key and space survives; a file that cannot be understood, or is a symbolic link, is never
written. Reading it is the business of `coven.config`.
"""

import json
import os
import re
from pathlib import Path
from typing import cast

from coven import config
from coven.config import SETTINGS, Scalar, Settings
from coven.daemon import files

_SPACE = re.compile(r"[ \t\r\n]*")
_SECTION = "store"


def complete(settings: Settings) -> list[str]:
    """Write the defaults that the file lacks. What a person must read when that cannot be done."""
    path = settings.config_file
    document = config.read_document(path)
    if document.problem is not None:
        return []  # told when the settings were read
    section = document.values.get(_SECTION, {})
    if not isinstance(section, dict):
        return []  # told as well
    missing = _missing(cast("dict[str, object]", section))
    if not missing:
        return []
    if path.is_symlink():
        return [
            f"{path} is a symbolic link, so it was not changed. "
            f"It lacks {', '.join(missing)} in {_SECTION!r}; the defaults are used."
        ]
    try:
        _write(path, completed(document.text, missing))
    except OSError as error:
        return [
            f"{path} cannot be written ({files.reason_of(error)}). "
            "The daemon runs on what it read. Make the directory writable, then restart it."
        ]
    return []


def completed(text: str | None, missing: dict[str, Scalar]) -> str:
    """The text of a configuration with keys added to `store`; everything else as it was."""
    if text is None:
        return json.dumps({_SECTION: missing}, indent=2) + "\n"
    members = _members(text, _after_space(text, 0))
    if _SECTION in members.starts:
        inside = _members(text, members.starts[_SECTION])
        return _insert(text, inside, [_pair(key, value) for key, value in missing.items()])
    return _insert(text, members, [_pair(_SECTION, missing)])


def _missing(section: dict[str, object]) -> dict[str, Scalar]:
    wanted = {s.name.partition(".")[2]: s.default for s in SETTINGS if s.written}
    return {key: value for key, value in wanted.items() if key not in section}


def _write(path: Path, text: str) -> None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        files.write(path, text.encode(), mode=0o644)
    else:
        mode, owner = found.st_mode & 0o777, (found.st_uid, found.st_gid)
        files.write(path, text.encode(), mode=mode, owner=owner)


class _Members:
    """Where the members of one JSON object stand in a text that is known to be JSON."""

    def __init__(self, opening: int) -> None:
        self.starts: dict[str, int] = {}
        self.first: int | None = None
        """Where the name of the first member begins."""
        self.opening = opening
        self.end = opening + 1
        """Behind the last member, or behind the brace when there is none."""


def _members(text: str, opening: int) -> _Members:
    decoder = json.JSONDecoder()
    found = _Members(opening)
    at = _after_space(text, opening + 1)
    while text[at] != "}":
        if found.first is None:
            found.first = at
        name, at = decoder.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # over the colon
        found.starts[name] = at
        _, found.end = decoder.raw_decode(text, at)
        at = _after_space(text, found.end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return found


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _pair(name: str, value: Scalar | dict[str, Scalar]) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, indent=2)}"


def _insert(text: str, members: _Members, pairs: list[str]) -> str:
    """The pairs behind the last member, indented as the members before them are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if members.first is not None:
        before = text[: members.first]
        line = before[before.rfind("\n") + 1 :]
        if line.strip():
            separator = ", "  # the members stand in one line, so the new ones do, too
            pairs = [" ".join(pair.split()) for pair in pairs]
        else:
            separator = f",{newline}{line}"
            pairs = [pair.replace("\n", newline + line) for pair in pairs]
        return text[: members.end] + "".join(separator + p for p in pairs) + text[members.end :]
    outer = _indentation(text, members.opening)
    inner = outer + "  "
    lines = [inner + pair.replace("\n", newline + inner) for pair in pairs]
    body = newline + f",{newline}".join(lines) + newline + outer
    return text[: members.end] + body + text[members.end :].lstrip(" \t\r\n")


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
