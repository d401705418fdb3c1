"""Targets: files that a person names for us to write, such as a backup or a dump.

A target is always new. It is never overwritten, and no folder is made for it: a folder that is not
there is more often a typing error than a wish.
"""

import os
from pathlib import Path

from coven.core.errors import CovenError, Kind


class FileExists(CovenError):
    """There is something at {path} already."""

    code = "FILE_EXISTS"
    kind = Kind.CONFLICT
    remedy = "Nothing was overwritten. Name a new file."


class FolderMissing(CovenError):
    """There is no folder {path}."""

    code = "FOLDER_MISSING"
    kind = Kind.MISSING
    remedy = "Make it first, or name a file in a folder that exists."


def require_new(path: Path) -> None:
    """Refuse a target that is there, or whose folder is not."""
    if os.path.lexists(path):
        raise FileExists(path=str(path))
    if not path.parent.is_dir():
        raise FolderMissing(path=str(path.parent))
