"""Programs: verbs that work without a daemon become `python -m coven.daemon <verb>`.

Become, not start: the process keeps its id, its terminal and its signals, so the pid of a daemon is
that of the `coven up` which somebody started, and Ctrl-C goes where it should.
"""

import os
import sys
from typing import NoReturn

from coven.cli.command import Here


def become(here: Here, *arguments: str) -> NoReturn:
    """Turn this process into the daemon's program, for the project that is meant."""
    place = ["--dir", str(here.directory)] if here.directory else []
    shape = ["--json"] if here.json else []
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: a file of the project's own, say `json.py`, must not be taken for a part of Python.
    program = [sys.executable, "-P", "-m", "coven.daemon", *arguments, *place, *shape]
    os.execv(sys.executable, program)  # noqa: S606 - without a shell on purpose
