"""What a person reads when the daemon is up: where it is, where the token is, what to try."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import coven
from coven.daemon.daemon import Daemon


def render(daemon: Daemon, problems: list[str]) -> str:
    """The announcement; problems first, because they ask for something."""
    directory = daemon.settings.directory
    here = Path.cwd() == directory
    command = _command()
    where = "" if here else f" --dir {shlex.quote(str(directory))}"
    lines = [f"warning: {problem}" for problem in problems]
    lines += [
        f"Coven {coven.__version__} is up on the {_store(daemon)} (pid {daemon.pid}).",
        "",
        f"  URL     {daemon.url}   (browse {daemon.url}/docs)",
        f"  socket  {_shown(daemon.settings.socket, directory, here=here)}",
        f"  token   {_shown(daemon.settings.token_file, directory, here=here)}",
        "",
        "Three things to try, in another terminal:",
        f"  {command} watch{where}",
        f'  {command} notification post{where} hello "It works"',
        f"  kill -9 {daemon.pid}    # then start again: nothing acknowledged is lost",
        "",
        "Stop it with Ctrl-C or `coven stop`. Kill it whenever you like.",
    ]
    return "\n".join(lines)


def render_json(daemon: Daemon, problems: list[str]) -> str:
    """The same for a program: one line, once the doors are open."""
    settings = daemon.settings
    return json.dumps(
        {
            "pid": daemon.pid,
            "url": daemon.url,
            "socket": daemon.socket,
            "token_file": str(settings.token_file),
            "version": coven.__version__,
            "store": daemon.store.engine,
            "problems": problems,
        }
    )


def _store(daemon: Daemon) -> str:
    return "embedded store" if daemon.store.engine == "sqlite" else "PostgreSQL store"


def _shown(path: Path, directory: Path, *, here: bool) -> str:
    return str(path.relative_to(directory) if here else path)


def _command() -> str:
    """How the person can call us: by name when that works, else by where we were installed."""
    if shutil.which("coven") is not None:
        return "coven"
    beside = Path(sys.executable).with_name("coven")
    if not beside.exists():
        return "coven"
    shown = os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)
    return shlex.quote(shown)
