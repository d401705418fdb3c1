"""Settings: what the daemon was told, read once at its start and handed down as plain values.

Four places may say what a setting is, and the first that has one wins: a flag, the environment,
`.coven/config.json`, the default. `SETTINGS` is the whole list, as data; the reference page is
written from it. A bad value is reported by its name and the next place is asked instead, so a
typing error never keeps the daemon from starting; the one exception is the store, because a daemon
that quietly starts on another database would look as if it had lost everything.

Reading never writes: `daemon.config_file` puts the defaults into the file.
"""

import json
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from coven.core import quantities, terminal
from coven.core.errors import CovenError, Kind

STATE_DIRECTORY = ".coven"
FILE_BYTES_MAX = 1024 * 1024
# SQLite takes 504 bytes for a database; this leaves room for `.coven` and the names of backups.
DIRECTORY_BYTES_MAX = 400

Scalar = str | int | float
Source = Literal["default", "file", "environment", "flag"]


class StoreNotUnderstood(CovenError):
    """{where} does not name a store: {shown}."""

    code = "STORE_NOT_UNDERSTOOD"
    kind = Kind.INVALID
    remedy = (
        "Write sqlite for the embedded store, or postgresql://user@host/database for a shared one. "
        "Nothing was started, so that no other database is used by mistake."
    )


class BadFlag(CovenError):
    """{name} cannot be {shown}: it must be {wanted}."""

    code = "BAD_FLAG"
    kind = Kind.INVALID
    remedy = "`coven up --help` lists the flags; `coven config show` lists every setting."


class BadDirectory(CovenError):
    """The project directory {shown} cannot be used: {reason}."""

    code = "BAD_DIRECTORY"
    kind = Kind.INVALID
    remedy = "Nothing was started. Rename or move it, or name another one with --dir or COVEN_DIR."


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that can be set: its name in the file, its limits, and what it means."""

    name: str
    """Where it stands in `config.json`: `store.claimTimeoutMinutes` is inside `store`."""
    default: Scalar
    meaning: str
    environment: str
    flag: str | None = None
    kind: Literal["amount", "whole", "choice", "store"] = "amount"
    """`amount` is any number above zero, `whole` a whole number."""
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()
    written: bool = False
    """Whether it stands in a fresh `config.json`; the others are there when somebody adds them."""

    @property
    def wanted(self) -> str:
        """What a value must be, as the end of a sentence."""
        match self.kind:
            case "amount":
                return f"a number above 0 and at most {self.most}"
            case "whole":
                return f"a whole number from {self.least} to {self.most}"
            case "choice":
                return "one of " + ", ".join(self.choices)
            case "store":
                return "sqlite or postgresql://…"


def _retention(name: str, default: int, meaning: str, *, most: int) -> Setting:
    # `store.eventRetentionHours` is COVEN_EVENT_RETENTION_HOURS in the environment.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return Setting(
        name=f"store.{name}",
        default=default,
        most=most,
        meaning=meaning,
        environment=f"COVEN_{words}",
        written=True,
    )


SETTINGS: tuple[Setting, ...] = (
    _retention("eventRetentionHours", 24, "How long an event is kept for replay.", most=876_000),
    _retention("taskRetentionDays", 30, "How long a closed task stays in view.", most=36_500),
    _retention(
        "taskSoftDeleteDays", 7, "How long a task out of view can be brought back.", most=36_500
    ),
    _retention("workflowRetentionDays", 7, "How long a completed workflow is kept.", most=36_500),
    _retention(
        "claimTimeoutMinutes", 30, "How long a claim lasts without a renewal.", most=525_600
    ),
    Setting(
        name="store.url",
        default="sqlite",
        kind="store",
        meaning="Where everything is kept: `sqlite` for `.coven/coven.db`, or a PostgreSQL URL.",
        environment="COVEN_STORE",
        flag="--store",
    ),
    Setting(
        name="port",
        default=8765,
        kind="whole",
        least=0,
        most=65_535,
        meaning="The port on 127.0.0.1; 0 picks a free one at each start.",
        environment="COVEN_PORT",
        flag="--port",
    ),
    Setting(
        name="logging.level",
        default="info",
        kind="choice",
        choices=("debug", "info", "warning", "error"),
        meaning="The least important line that `.coven/covend.log` keeps.",
        environment="COVEN_LOG_LEVEL",
    ),
    Setting(
        name="logging.fileMegabytes",
        default=10,
        kind="whole",
        least=1,
        most=1024,
        meaning="How large `.coven/covend.log` grows before a new one is begun.",
        environment="COVEN_LOG_FILE_MEGABYTES",
    ),
    Setting(
        name="logging.filesKept",
        default=5,
        kind="whole",
        least=1,
        most=100,
        meaning="How many full log files are kept beside the current one.",
        environment="COVEN_LOG_FILES_KEPT",
    ),
)

CLOCK_OFFSET = "COVEN_CLOCK_OFFSET"
"""For tests only: moves the daemon's clock, for example `2h` or `-30m`. Not a setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the daemon was told, checked, with where each value came from."""

    directory: Path
    store_url: str = field(repr=False)
    """`sqlite:/absolute/path` or `postgresql://…`; it may hold a password: show it `redacted`."""
    port: int
    fresh: bool
    event_retention: timedelta
    task_retention: timedelta
    task_soft_delete: timedelta
    workflow_retention: timedelta
    claim_timeout: timedelta
    log_level: str
    log_file_bytes: int
    log_files_kept: int
    clock_offset: timedelta
    values: dict[str, Scalar]
    """Every setting by its name as it holds now, fit to be shown: no password is in it."""
    sources: dict[str, str]
    """Which place each value came from: default, file, environment or flag."""
    problems: list[str]
    """What a person must read: each bad value by its name, and what is used instead."""

    @property
    def state_directory(self) -> Path:
        return self.directory / STATE_DIRECTORY

    @property
    def config_file(self) -> Path:
        return self.state_directory / "config.json"

    @property
    def lock_file(self) -> Path:
        return self.state_directory / "coven.lock"

    @property
    def address_file(self) -> Path:
        return self.state_directory / "covend.json"

    @property
    def socket(self) -> Path:
        return self.state_directory / "covend.sock"

    @property
    def log_file(self) -> Path:
        return self.state_directory / "covend.log"

    @property
    def token_file(self) -> Path:
        return self.state_directory / "token"

    @property
    def node_file(self) -> Path:
        return self.state_directory / "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A configuration file as it was found. Never more than one of `values` and `problem`."""

    text: str | None = None
    """None when there is no file, or none that can be used."""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    problem: str | None = None


def load(
    directory: Path | str,
    *,
    environment: Mapping[str, str],
    port: int | None = None,
    store: str | None = None,
    fresh: bool = False,
) -> Settings:
    """The settings of a project directory. Touches nothing; the directory need not exist."""
    root = Path(os.path.abspath(directory))
    _require_usable(root)
    path = root / STATE_DIRECTORY / "config.json"
    document = read_document(path)
    problems = [document.problem] if document.problem else []
    problems += _misplaced(document, path)
    flags: dict[str, Scalar | None] = {"port": port, "store.url": store}
    values: dict[str, Scalar] = {}
    sources: dict[str, str] = {}
    for setting in SETTINGS:
        places: list[tuple[Source, str, object]] = [
            ("flag", setting.flag or "", flags.get(setting.name)),
            ("environment", setting.environment, environment.get(setting.environment) or None),
            ("file", str(path), _found(document.values, setting.name)),
        ]
        chosen = _choose(setting, places, problems)
        values[setting.name], sources[setting.name] = chosen
    offset = _clock_offset(environment.get(CLOCK_OFFSET, ""), problems)
    return _settings(root, values, sources, problems=problems, fresh=fresh, offset=offset)


def _require_usable(root: Path) -> None:
    reason = None
    if not terminal.is_text(str(root)):
        reason = "its path is not UTF-8 text"
    elif len(str(root).encode()) > DIRECTORY_BYTES_MAX:
        reason = f"its path is longer than {DIRECTORY_BYTES_MAX} bytes"
    if reason is not None:
        raise BadDirectory(shown=_shown(str(root)), reason=reason)


def read_document(path: Path) -> Document:
    """What stands in a configuration file, or one sentence about why it cannot be used."""
    try:
        raw = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        # A file in the place of `.coven` is told by those who need the directory.
        if path.is_symlink():
            return _unusable(
                path, "is a symbolic link to nothing", "Restore its target or remove it."
            )
        return Document()
    except OSError as error:
        told = os.strerror(error.errno) if error.errno else "unknown"
        return _unusable(path, f"cannot be read ({told})", "Make it a file that you can read.")
    if raw is None:
        return _unusable(path, "is not a file", "Move away what is in its place.")
    if len(raw) > FILE_BYTES_MAX:
        return _unusable(path, "is larger than 1 MB", "Is it the right file? Make it smaller.")
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return _unusable(path, "begins with a byte order mark", "Save it as UTF-8 without a BOM.")
    return _parse(path, raw)


def redacted(text: str) -> str:
    """A text in which the secrets of every URL are replaced."""
    if "://" in text:
        text = _PASSWORD_IN_URL.sub(r"\g<1>[redacted]@", text)
        text = _TOKEN_IN_URL.sub(r"\g<1>[redacted]@", text)
    return _PASSWORD_PARAMETER.sub(r"\g<1>[redacted]", text)


# A password that nobody escaped may hold `@` and `/`, so everything up to the last `@` goes. What
# looks like a port stays.
_PASSWORD_IN_URL = re.compile(
    r"(\b[a-z][a-z0-9+.-]*://[^\s/:@?#]*:)(?!\d{1,5}(?:[/?#\s]|$))\S*@", re.I
)
_TOKEN_IN_URL = re.compile(r"(\bhttps?://)[^\s/:@?#]+@", re.I)
_PASSWORD_PARAMETER = re.compile(r"(\b(?:ssl)?password\s*=\s*)[^\s&\"']+", re.I)
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?", re.ASCII)


def _read(path: Path) -> bytes | None:
    # O_NONBLOCK: opening a pipe that somebody put here must not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def _unusable(path: Path, what: str, remedy: str) -> Document:
    told = f"{path} {what}; it was left as it is and the defaults are used. {remedy}"
    return Document(problem=told)


def _parse(path: Path, raw: bytes) -> Document:
    try:
        text = raw.decode("utf-8")
        body: Any = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return _unusable(path, f"is not UTF-8 text (byte {error.start})", "Save it as UTF-8.")
    except json.JSONDecodeError as error:
        what = f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        return _unusable(
            path, what, "Correct it, or move it away and the next start writes a new one."
        )
    except (ValueError, RecursionError):
        return _unusable(
            path, "is not JSON that can be read", "Write plain numbers and few levels."
        )
    if not isinstance(body, dict):
        return _unusable(path, "is not a JSON object", 'Begin it with "{" and end it with "}".')
    return Document(text=text, values=cast("dict[str, Any]", body))


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _misplaced(document: Document, path: Path) -> list[str]:
    """Sections that are not objects, so that none of their settings can be read."""
    sections = dict.fromkeys(s.name.split(".")[0] for s in SETTINGS if "." in s.name)
    return [
        f"{path}: {section} is {_shown(document.values[section])}, which is not an object; "
        "the defaults of its settings are used."
        for section in sections
        if section in document.values and not isinstance(document.values[section], dict)
    ]


def _found(values: Mapping[str, Any], name: str) -> object:
    section, _, key = name.rpartition(".")
    inside: Any = values.get(section) if section else values
    return cast("dict[str, Any]", inside).get(key, _ABSENT) if isinstance(inside, dict) else _ABSENT


_ABSENT = object()


def _choose(
    setting: Setting, places: list[tuple[Source, str, object]], problems: list[str]
) -> tuple[Scalar, Source]:
    """The first place that holds a good value; bad ones on the way are told."""
    refused: list[tuple[str, object]] = []
    chosen: tuple[Scalar, Source] = (setting.default, "default")
    for source, where, raw in places:
        if raw is _ABSENT or (raw is None and source != "file"):
            continue
        value = _accepted(setting, raw, is_text=source == "environment")
        if value is not None:
            chosen = value, source
            break
        if source == "flag":
            _refuse_flag(setting, raw)
        if setting.kind == "store":
            name = setting.name if source == "file" else where
            raise StoreNotUnderstood(where=name, shown=_shown(raw))
        refused.append((f"{where}: {setting.name}" if source == "file" else where, raw))
    for where, raw in refused:
        problems.append(
            f"{where} is {_shown(raw)}, which is not {setting.wanted}; "
            f"{chosen[0]} ({chosen[1]}) is used instead."
        )
    return chosen


def _refuse_flag(setting: Setting, raw: object) -> None:
    if setting.kind == "store":
        raise StoreNotUnderstood(where=setting.flag, shown=_shown(raw))
    raise BadFlag(name=setting.flag, shown=_shown(raw), wanted=setting.wanted)


def _accepted(setting: Setting, raw: object, *, is_text: bool) -> Scalar | None:
    """The value that something spells for this setting, if it does."""
    match setting.kind:
        case "choice":
            text = raw.strip().lower() if isinstance(raw, str) else ""
            return text if text in setting.choices else None
        case "store":
            return raw.strip() if isinstance(raw, str) and _is_store(raw.strip()) else None
        case "amount" | "whole":
            number = _number(raw.strip()) if is_text and isinstance(raw, str) else raw
            return _within(setting, number)


def _number(text: str) -> Scalar | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    return float(text) if "." in text else int(text)


def _within(setting: Setting, number: object) -> Scalar | None:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if setting.kind == "amount":
        # A microsecond is the smallest step of our clock: less would round to nothing.
        return number if 1e-6 <= number <= setting.most else None
    if not setting.least <= number <= setting.most or number != int(number):
        return None
    return int(number)


def _is_store(text: str) -> bool:
    if not terminal.is_text(text):
        return False
    if text == "sqlite" or (text.startswith("sqlite:") and text.removeprefix("sqlite:").strip("/")):
        return "\0" not in text
    try:
        parts = urlsplit(text)
        has_sense = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return has_sense and parts.scheme in ("postgresql", "postgres") and "://" in text


def _store_url(text: str, root: Path) -> str:
    """`sqlite` and relative paths become whole: the store never guesses where it is."""
    if text == "sqlite":
        return f"sqlite:{root / STATE_DIRECTORY / 'coven.db'}"
    if text.startswith("sqlite:"):
        # `sqlite:///absolute` and `sqlite:////absolute` are how other programs write it.
        path = re.sub(r"^/{2,}(?=/)", "", text.removeprefix("sqlite:"))
        return f"sqlite:{os.path.normpath(root / path)}"
    return text.replace("postgres://", "postgresql://", 1) if text.startswith("postgres:") else text


def _clock_offset(text: str, problems: list[str]) -> timedelta:
    text = text.strip()
    if not text:
        return timedelta(0)
    try:
        moved = quantities.parse_duration(text.lstrip("+-"))
    except quantities.MalformedQuantity:
        problems.append(f"{CLOCK_OFFSET} is {_shown(text)}, which is not a duration such as -2h.")
        return timedelta(0)
    return -moved if text.startswith("-") else moved


def _settings(
    root: Path,
    values: dict[str, Scalar],
    sources: dict[str, str],
    *,
    problems: list[str],
    fresh: bool,
    offset: timedelta,
) -> Settings:
    def number(name: str) -> float:
        return float(values[name])

    shown = {name: redacted(v) if isinstance(v, str) else v for name, v in values.items()}
    return Settings(
        directory=root,
        store_url=_store_url(str(values["store.url"]), root),
        port=int(values["port"]),
        fresh=fresh,
        event_retention=timedelta(hours=number("store.eventRetentionHours")),
        task_retention=timedelta(days=number("store.taskRetentionDays")),
        task_soft_delete=timedelta(days=number("store.taskSoftDeleteDays")),
        workflow_retention=timedelta(days=number("store.workflowRetentionDays")),
        claim_timeout=timedelta(minutes=number("store.claimTimeoutMinutes")),
        log_level=str(values["logging.level"]),
        log_file_bytes=int(values["logging.fileMegabytes"]) * 1024 * 1024,
        log_files_kept=int(values["logging.filesKept"]),
        clock_offset=offset,
        values=shown,
        sources=sources,
        problems=problems,
    )


def _shown(value: object) -> str:
    """A value as it may be printed: one line, not too long, no password."""
    # Redacted before it is quoted, because quoting could hide the end of a password.
    text = redacted(json.dumps(redacted(value) if isinstance(value, str) else value))
    return text if len(text) <= 60 else text[:57] + "…"
