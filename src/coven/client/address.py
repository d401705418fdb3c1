"""Where the daemon is: the `.coven` directory of this project, or a URL and a token.

A running daemon writes `.coven/covend.json`. Its Unix socket needs no token, because the file
system says who may open it; where there is none that can be used, the loopback address and the
token in `.coven/token` do. Reading an address says nothing about whether anybody answers there.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from coven.client.errors import DaemonNotRunning

STATE_DIRECTORY = ".coven"
_SOCKET_PATH_BYTES_MAX = 107  # `sun_path` on Linux, without its final NUL


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One way to reach one daemon."""

    url: str
    socket: Path | None = None
    token: str | None = field(default=None, repr=False)
    place: str
    """How a person calls it: the project directory, or the URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """What somebody said about where the daemon is; `None` leaves it to the environment."""

    directory: Path | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)

    def is_remote(self) -> bool:
        """Whether a URL, not a directory, says where the daemon is."""
        return self._remote_url() is not None

    def find(self) -> Address:
        """The address as it stands now; a restarted daemon may have another one."""
        url = self._remote_url()
        if url is not None:
            token = self.token or _environment("COVEN_TOKEN")
            return Address(url=url.rstrip("/"), token=token, place=url)
        project = self.project()
        if project is None:
            raise DaemonNotRunning(place=str(Path.cwd()))
        return _announced(project, self.token)

    def project(self) -> Path | None:
        """The project directory: named, or the nearest one upwards that has a `.coven`."""
        named = self.directory or _environment("COVEN_DIR")
        if named:
            return Path(named).expanduser().absolute()
        here = Path.cwd()
        for directory in (here, *here.parents):
            if (directory / STATE_DIRECTORY).is_dir():
                return directory
        return None

    def _remote_url(self) -> str | None:
        if self.url:
            return self.url
        # A directory that was named by hand is meant more than what the environment says.
        return None if self.directory else _environment("COVEN_URL")


def announcement(project: Path) -> dict[str, Any]:
    """What `covend.json` says: `{pid, url, socket, version, started_at}`; empty without one."""
    try:
        body: Any = json.loads((project / STATE_DIRECTORY / "covend.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _announced(project: Path, token: str | None) -> Address:
    body = announcement(project)
    url, socket = body.get("url"), body.get("socket")
    if isinstance(socket, str) and socket:
        path = project / STATE_DIRECTORY / socket  # an absolute path stays as it is
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_MAX and path.exists():
            # The URL only fills the Host header; over a socket nobody resolves the name.
            return Address(url="http://localhost", socket=path, token=token, place=str(project))
    if not isinstance(url, str) or not url:
        raise DaemonNotRunning(place=str(project))
    token = token or _token_of(project) or _environment("COVEN_TOKEN")
    return Address(url=url.rstrip("/"), token=token, place=str(project))


def _token_of(project: Path) -> str | None:
    try:
        return (project / STATE_DIRECTORY / "token").read_text().strip() or None
    except OSError:
        return None


def _environment(name: str) -> str | None:
    # A visitor stands in its user's environment; `coven.config` reads the daemon's.
    return os.environ.get(name) or None  # noqa: TID251 - the one place where the client looks
