"""A caller that speaks ASGI itself: for what a well-behaved HTTP client would never send."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from coven.doors.http import Doors

Header = tuple[bytes, bytes]


class Call:
    """One request that is sent piece by piece, and what comes back."""

    def __init__(
        self,
        *,
        path: str = "/",
        method: str = "GET",
        headers: Sequence[Header] = (),
        query: bytes = b"",
        host: bytes | None = b"127.0.0.1:8765",
        blocked_after: int | None = None,
    ) -> None:
        named = [(b"host", host)] if host is not None else []
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query,
            "headers": [*named, *headers],
            "server": ("127.0.0.1", 8765),
            "client": ("127.0.0.1", 40000),
        }
        self.sent: list[dict[str, Any]] = []
        self.received = 0
        self._arriving: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._blocked_after = blocked_after

    def give(self, body: bytes, *, more: bool = False) -> "Call":
        """Send one piece of the body."""
        self._arriving.put_nowait({"type": "http.request", "body": body, "more_body": more})
        return self

    def hang_up(self) -> "Call":
        """Close the connection."""
        self._arriving.put_nowait({"type": "http.disconnect"})
        return self

    async def run(self, doors: Doors) -> "Call":
        """Let the doors answer."""
        await doors(self.scope, self._receive, self._send)
        return self

    async def _receive(self) -> dict[str, Any]:
        self.received += 1
        return await self._arriving.get()

    async def _send(self, message: Any) -> None:
        if self._blocked_after is not None and len(self.sent) >= self._blocked_after:
            await asyncio.Event().wait()  # a reader that has stopped reading
        self.sent.append(message)

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def is_complete(self) -> bool:
        return len(self.sent) > 1 and not self.sent[-1].get("more_body", False)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.body)["error"]
