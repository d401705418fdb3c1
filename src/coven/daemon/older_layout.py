"""The older layout: state that an earlier program kept in JSON files under `.coven`.

They are found by name and never opened, followed or changed. Somebody who has them is told how to
bring them along, and the first start waits for a decision: `coven migrate`, or `coven up --fresh`.
A directory in which this daemon has run before has been decided about, so later starts only remind.
"""

import os
import stat
from pathlib import Path

from coven.config import Settings
from coven.core.errors import CovenError, Kind

PROMPT = "Run `coven migrate` to migrate existing state"
_SHOWN_MAX = 5
_FOLDERS = ("workflows", "familiars")


class OlderStateFound(CovenError):
    """Run `coven migrate` to migrate existing state."""

    code = "OLDER_STATE_FOUND"
    kind = Kind.CONFLICT
    remedy = "Or start without it: `coven up --fresh`. The old files stay as they are either way."


def find(state_directory: Path) -> list[str]:
    """The old files that are there, named from the project directory, in a stable order."""
    found: list[str] = []
    name = state_directory.name
    if _is_there(state_directory / "state.json"):
        found.append(f"{name}/state.json")
    for folder in _FOLDERS:
        found += [f"{name}/{folder}/{entry}" for entry in _entries(state_directory / folder)]
    return found


def check(settings: Settings) -> str | None:
    """What to tell at the start: nothing, or a reminder; OlderStateFound before the first one."""
    if settings.fresh:
        return None
    found = find(settings.state_directory)
    if not found:
        return None
    detail = f"Found {render(found)}."
    if not _has_run_before(settings):
        raise OlderStateFound(detail=detail, files=found)
    return f"{PROMPT}. {detail} This daemon runs without it; `--fresh` leaves this reminder out."


def render(found: list[str]) -> str:
    """A few of the files and how many more there are."""
    shown = ", ".join(found[:_SHOWN_MAX])
    return f"{shown} and {len(found) - _SHOWN_MAX} more" if len(found) > _SHOWN_MAX else shown


def _has_run_before(settings: Settings) -> bool:
    # Both are made by a start, after this check: `node` on either engine.
    return settings.node_file.exists() or (settings.state_directory / "coven.db").exists()


def _is_there(path: Path) -> bool:
    """Whether something that could be state has this name; a link is not followed."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # something is there that we may not look at: a person must decide


def _entries(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.name
                for entry in entries
                if entry.name.endswith(".json") and not entry.is_dir(follow_symlinks=False)
            )
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        return ["*.json (not readable)"]
