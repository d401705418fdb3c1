"""Where the daemon is: the `.coven` directory of this project, or a URL and a token.

A running daemon writes `.coven/covend.json`. Its Unix socket needs no token, because the file
system says who may open it; where there is none that can be used, the loopback address and the
token in `.coven/token` do. Reading an address says nothing about whether anybody answers there.
"""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from coven.client.errors import BadAddress, BadToken, DaemonNotRunning
from coven.client.wire import httpx

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
        _require_token(self.token, name="The given token")
        url = self._remote_url()
        if url is not None:
            if not _is_url(url):
                name = "The given URL" if self.url else "COVEN_URL"
                raise BadAddress(name=name, shown=_shown(url))
            token = self.token or _token_of_environment()
            return Address(url=url.rstrip("/"), token=token, place=url)
        project = self.project()
        if project is None:
            raise DaemonNotRunning(place=str(Path.cwd()))
        return _announced(project, self.token)

    def project(self) -> Path | None:
        """The project directory: named, or the nearest one upwards that has a `.coven`."""
        named = self.directory or _environment("COVEN_DIR")
        if named:
            return Path(os.path.expanduser(named)).absolute()
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
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _announced(project: Path, token: str | None) -> Address:
    body = announcement(project)
    url, socket = body.get("url"), body.get("socket")
    if isinstance(socket, str) and socket:
        path = project / STATE_DIRECTORY / socket  # an absolute path stays as it is
        if _is_socket_path(path) and path.exists():
            # The URL only fills the Host header; over a socket nobody resolves the name.
            return Address(url="http://localhost", socket=path, token=token, place=str(project))
    if not isinstance(url, str) or not _is_url(url):
        raise DaemonNotRunning(place=str(project))
    token = token or _token_of(project) or _token_of_environment()
    return Address(url=url.rstrip("/"), token=token, place=str(project))


def _token_of(project: Path) -> str | None:
    path = project / STATE_DIRECTORY / "token"
    try:
        token = path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
    return _require_token(token, name=f"What stands in {path}")


def _token_of_environment() -> str | None:
    return _require_token(_environment("COVEN_TOKEN"), name="COVEN_TOKEN")


def _require_token(token: str | None, *, name: str) -> str | None:
    """The token, which must fit into a header; it is a secret and never shown."""
    if token and re.fullmatch(r"[!-~]+", token) is None:
        raise BadToken(name=name)
    return token


def _is_url(text: str) -> bool:
    """Whether requests can be sent there, as far as its spelling can tell."""
    try:
        port = urlsplit(text).port  # what httpx does not mind: a `[` alone, a port of six digits
        url = httpx.URL(text)
        url.raw_host.decode().encode("idna")  # as a name is looked up: no part empty or too long
    except (httpx.InvalidURL, ValueError):
        return False
    return port != 0 and url.scheme in ("http", "https") and bool(url.host)


def _shown(url: str) -> str:
    text = ascii(re.sub(r"//.*@", "//[redacted]@", url, flags=re.DOTALL))
    return text if len(text) <= 60 else text[:57] + "…"


def _is_socket_path(path: Path) -> bool:
    try:
        return len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_MAX
    except UnicodeEncodeError:
        return False


def _environment(name: str) -> str | None:
    # A visitor stands in its user's environment; `coven.config` reads the daemon's.
    return os.environ.get(name) or None  # noqa: TID251 - the one place where the client looks
