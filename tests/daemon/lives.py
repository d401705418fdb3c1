"""A whole life of `python -m coven.daemon up`, in this process: it starts, is visited, and ends.

The program's own entry is called, so its output, its exit code and its signal handlers are the real
ones; only the time that a new interpreter takes is saved. A start that is refused ends by itself.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from coven.daemon.__main__ import main
from tests.eventually import eventually_here

START_SECONDS_MAX = 20.0

Visit = Callable[[httpx.Client], None]


def live(project: Path, *arguments: str, visit: Visit | None = None, **environment: str) -> int:
    """Be the daemon of a directory until the visitor has looked around; the exit code."""
    ended = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        visited = threads.submit(_visit, project, ended, visit)
        try:
            code = main(["up", "--port", "0", "--dir", str(project), *arguments], environment)
        finally:
            ended.set()
        visited.result()
    return code


def is_up(project: Path) -> bool:
    """Whether a daemon of this process has told its address."""
    try:
        told = json.loads((project / ".coven" / "covend.json").read_text())
    except (OSError, ValueError):
        return False
    return told["pid"] == os.getpid()


def at(project: Path) -> httpx.Client:
    """Plain HTTP over the socket of a project."""
    transport = httpx.HTTPTransport(uds=str(project / ".coven" / "covend.sock"))
    return httpx.Client(transport=transport, base_url="http://localhost", timeout=10)


def _visit(project: Path, ended: threading.Event, visit: Visit | None) -> None:
    eventually_here(lambda: ended.is_set() or is_up(project), within=START_SECONDS_MAX)
    if ended.is_set():
        return
    with at(project) as http:
        try:
            if visit is not None:
                visit(http)
        finally:
            with contextlib.suppress(httpx.TransportError):  # the visitor may have ended it
                http.post("/shutdown")
