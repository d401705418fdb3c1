"""httpx, without the command line that it would load along.

Importing httpx imports its own small program, and with it click, Rich and Pygments: more than half
of what `coven status` would take to start. httpx works without it, as it does where those are not
installed, so it is told that they are not.
"""

import sys
from typing import Any, cast

_PROGRAM = "httpx._main"

_is_first = "httpx" not in sys.modules
if _is_first:
    cast("dict[str, Any]", sys.modules)[_PROGRAM] = None

import httpx  # noqa: E402 - what stands above is for this import

if _is_first:
    del sys.modules[_PROGRAM]

__all__ = ["httpx"]
