"""What the daemon says while it works: JSON lines in `.coven/covend.log`, and readable lines for a
person at a terminal.

Everything goes one way, whether our code says it through structlog or a library through `logging`:
its time comes from our clock, secrets are taken out, and a thread writes it, so that a slow disk or
a stopped terminal holds up the log and not the daemon. The log is not the record of what happened:
that is the events.
"""

import logging
import queue
import re
import sys
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol, TextIO, cast

import structlog
from structlog.typing import Processor

from coven import config
from coven.config import Settings
from coven.core import clock as instants
from coven.core.clock import Clock, SystemClock
from coven.daemon.log_file import LogFile

LINES_WAITING_MAX = 20_000
TEXT_CHARACTERS_MAX = 16 * 1024
_CLOSING_SECONDS_MAX = 5
_DEPTH_MAX = 6
_REDACTED = "[redacted]"
_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:token|password|passwd|secret|authorization|cookie|credentials?|"
    r"(?:api|private|access)[_-]?key)$",
    re.I,
)
_SECRET_TEXT = re.compile(r"(\bBearer\s+)[^\s\"',;]+|(\bcoven_)[A-Za-z0-9_-]{32,}", re.I)
# A traceback has lines; what else would begin a new line could pretend to be one of ours.
_CONTROL = {
    False: re.compile(r"[\x00-\x1f\x7f-\x9f]"),
    True: re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
}
# What they say below these levels is of use to their own authors only.
_QUIET = {
    "httpx": "WARNING",
    "httpcore": "WARNING",
    "asyncio": "INFO",
    "uvicorn.error": "WARNING",  # its start and its end, once for each of our two sockets
}


class Logs:
    """The log while the daemon runs."""

    def __init__(self, handlers: list[logging.Handler]) -> None:
        self._handlers = handlers
        self._thread_hook = threading.excepthook
        threading.excepthook = _tell_of_thread

    def flush(self) -> None:
        """Return when everything that was said before is written."""
        for handler in self._handlers:
            handler.flush()

    def close(self) -> None:
        """Write what is waiting and give the files up. What is said later goes nowhere."""
        handlers, self._handlers = self._handlers, []
        for handler in handlers:
            logging.getLogger().removeHandler(handler)
            handler.close()
        if handlers:
            threading.excepthook = self._thread_hook
            logging.captureWarnings(False)
            structlog.reset_defaults()

    def __enter__(self) -> "Logs":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def configure(settings: Settings, *, foreground: bool, clock: Clock | None = None) -> Logs:
    """Begin to log; with `foreground` a person looks on at standard error.

    The file is opened by the first line that is said. Only the holder of the lock may say one: two
    processes must not rotate the same files.
    """
    clock = clock or SystemClock(settings.clock_offset)
    file = LogFile(
        settings.log_file, bytes_max=settings.log_file_bytes, kept=settings.log_files_kept
    )
    handlers: list[logging.Handler] = [
        _Lines(file, _formatter(clock, structlog.processors.JSONRenderer(default=repr)))
    ]
    if foreground:
        person = structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        )
        handlers.append(_Lines(_Terminal(sys.stderr), _formatter(clock, _without_control, person)))
    root = logging.getLogger()
    root.setLevel(settings.log_level.upper())
    for handler in handlers:
        root.addHandler(handler)
    _adopt_libraries()
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    return Logs(handlers)


def redact(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog: takes out what looks like a secret, or is named like one."""
    return {name: _clean(name, value, 0) for name, value in line.items()}


def redact_text(text: str) -> str:
    """A text without tokens and passwords, cut to a length that a log can bear."""
    if len(text) > TEXT_CHARACTERS_MAX:
        text = f"{text[:TEXT_CHARACTERS_MAX]}… ({len(text)} characters)"
    text = _SECRET_TEXT.sub(lambda found: (found[1] or found[2]) + _REDACTED, text)
    return config.redacted(text)


class _Sink(Protocol):
    def write(self, line: str) -> None: ...

    def close(self) -> None: ...


class _Terminal:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # the person has closed the window; the file has the line

    def close(self) -> None:
        """It is not ours to close."""


class _Lines(logging.Handler):
    """Renders a line where it is said, and has a thread of its own write it."""

    def __init__(self, sink: _Sink, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._sink = sink
        self._dropped = 0
        self._waiting: queue.SimpleQueue[str | threading.Event | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_waiting, name="log", daemon=True)
        self._writer.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._waiting.qsize() >= LINES_WAITING_MAX:
            self._dropped += 1  # the disk stands still: a gap is better than no memory
            return
        try:
            self._waiting.put(self.format(record))
        except Exception:  # noqa: BLE001 - a line that cannot be rendered must not end what said it
            self.handleError(record)

    def flush(self) -> None:
        if self._writer.is_alive():
            written = threading.Event()
            self._waiting.put(written)
            written.wait(_CLOSING_SECONDS_MAX)

    def close(self) -> None:
        if self._writer.is_alive():
            self._waiting.put(None)
            self._writer.join(_CLOSING_SECONDS_MAX)
        super().close()

    def _write_waiting(self) -> None:
        while (line := self._waiting.get()) is not None:
            if isinstance(line, threading.Event):
                line.set()
                continue
            self._sink.write(line)
            if self._dropped and self._waiting.empty():
                dropped, self._dropped = self._dropped, 0
                self._sink.write(f'{{"event": "log lines were dropped", "count": {dropped}}}')
        self._sink.close()


def _formatter(clock: Clock, *last: Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        processors=[
            _placed_by(clock),
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            redact,
            *last,
        ]
    )


def _placed_by(clock: Clock) -> Processor:
    """When, how important and by whom, in front of what was said."""

    def place(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        record = cast("logging.LogRecord", line["_record"])
        placed: dict[str, Any] = {
            "timestamp": instants.render(clock.now()),
            "level": record.levelname.lower(),
            "event": line.pop("event", ""),
            "logger": record.name,
        }
        placed.update(line)
        return placed

    return place


def _clean(name: str, value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if _SECRET_NAME.search(name):
        return _REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if depth < _DEPTH_MAX and isinstance(value, Mapping):
        inside = cast("Mapping[object, object]", value)
        return {str(key): _clean(str(key), each, depth + 1) for key, each in inside.items()}
    if depth < _DEPTH_MAX and isinstance(value, list | tuple | set | frozenset):
        return [_clean("", each, depth + 1) for each in cast("list[object]", value)]
    return redact_text(repr(value))


def _without_control(
    _: object, __: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """No control characters reach a terminal: a logged text must not be able to drive it."""
    return {
        name: _CONTROL[name in ("exception", "stack")].sub(_escaped, value)
        if isinstance(value, str)
        else value
        for name, value in line.items()
    }


def _escaped(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def _adopt_libraries() -> None:
    """Let everything that libraries say come our way, and nothing go past us."""
    logging.captureWarnings(True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)


def _tell_of_thread(failed: threading.ExceptHookArgs) -> None:
    """A thread that dies of an exception says so in the log, not on a screen nobody looks at."""
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread else "unknown"
        logging.getLogger("coven.threads").error(
            "thread %s failed",
            name,
            exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback),
        )
