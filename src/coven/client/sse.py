"""Server-sent events, from bytes to frames: what the standard says and nothing about Coven.

Bytes may be cut anywhere, inside a character or between a CR and its LF. A frame counts only when
its blank line has arrived: half a frame at the end of a broken connection never was. Lines end at
LF, CR or CRLF only, so text may hold any other separator that Unicode knows. Unlike in a browser, a
frame without data counts too: it may still carry an id.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FRAME_BYTES_MAX = 8 * 1024 * 1024

_LINE_END = re.compile(rb"\r\n|\n|\r")


class FrameTooLarge(ValueError):
    """A frame that no daemon sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event of the stream; `id` is the last one that was sent, with this frame or before."""

    event: str
    data: str
    id: str


class Decoder:
    """Turns the bytes of one connection into frames."""

    def __init__(self) -> None:
        self._rest = b""
        self._at_start = True
        self._held = 0
        self._event = ""
        self._data: list[str] = []
        self._id = ""
        self._has_fields = False

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Every frame that these bytes complete."""
        rest = self._rest + chunk
        if self._at_start and len(rest) >= 3:
            self._at_start = False
            rest = rest.removeprefix(b"\xef\xbb\xbf")
        position = 0
        while match := _LINE_END.search(rest, position):
            if match[0] == b"\r" and match.end() == len(rest):
                break  # its LF may be the first byte of the next chunk
            frame = self._line(rest[position : match.start()])
            position = match.end()
            if frame is not None:
                yield frame
        self._rest = rest[position:]
        if self._held + len(self._rest) > FRAME_BYTES_MAX:
            raise FrameTooLarge(f"a frame of more than {FRAME_BYTES_MAX} bytes")

    def _line(self, line: bytes) -> Frame | None:
        if not line:
            return self._end()
        self._held += len(line)
        name, _, raw = line.partition(b":")
        value = raw.removeprefix(b" ").decode("utf-8", "replace")
        self._has_fields |= name in (b"data", b"event", b"id")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id" and "\0" not in value:
            self._id = value
        return None

    def _end(self) -> Frame | None:
        event, data, has_fields = self._event, self._data, self._has_fields
        self._event, self._data, self._held, self._has_fields = "", [], 0, False
        if not has_fields:
            return None
        return Frame(event=event or "message", data="\n".join(data), id=self._id)
