"""The owner's token: `.coven/token`, made once, readable by the owner only.

Whoever can read this file may do everything, so it is as good as the file system's own rules. The
tokens that people make for others are rows of the store (`coven.doors.tokens`), not files.
"""

import contextlib
import os
import re
import stat
from pathlib import Path

from coven.core.errors import CovenError, Kind
from coven.daemon import files
from coven.doors.tokens import fresh_secret

_TOKEN = re.compile(r"[\x21-\x7e]{16,512}", re.ASCII)


class TokenFileUnusable(CovenError):
    """The token file {path} cannot be used: {reason}."""

    code = "TOKEN_FILE_UNUSABLE"
    kind = Kind.UNAVAILABLE
    remedy = "Remove it; the next start makes a new one."


def ensure(path: Path) -> str:
    """The owner's token; made now if there is none. Other users lose access to a file they had."""
    try:
        found = _read(path)
        if found is not None:
            return found
        made = fresh_secret()
        files.write(path, made.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise TokenFileUnusable(path=str(path), reason=files.reason_of(error)) from error
    return made


def _read(path: Path) -> str | None:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    with contextlib.ExitStack() as closing:
        closing.callback(os.close, descriptor)
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise TokenFileUnusable(path=str(path), reason="it is not a file")
        if stat.S_IMODE(state.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
        text = os.read(descriptor, 1024).decode("ascii", "replace").strip()
    if not text:
        return None  # somebody emptied it; a crash of ours cannot
    if _TOKEN.fullmatch(text) is None:
        raise TokenFileUnusable(path=str(path), reason="it does not hold one token")
    return text
