"""Named SQL: every statement stands in a `queries.sql` of its room, with a name and its prose.

    -- name: insert
    -- A new notification, unread.
    INSERT INTO kb.notifications (id, …) VALUES (:id, …);

One text serves both engines. Where they truly differ, a second text under the same name says for
whom it is: `-- name: insert (postgres)`. Placeholders are `:name`; for PostgreSQL they are
rewritten here, once, when the file is loaded.
"""

import re
from dataclasses import dataclass, field
from importlib import resources

_HEADER = re.compile(r"^-- name: (?P<name>\w+)(?: \((?P<engine>sqlite|postgres)\))?\s*$", re.M)
# Quoted text and comments are left alone; `::` is a cast, not a placeholder.
_TOKENS = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|::)|:([a-z_][a-z0-9_]*)|(%)")


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One named statement, ready for either engine. Compared by identity: it is loaded once."""

    name: str
    prose: str
    sqlite: str
    postgres: str
    columns: list[str] = field(default_factory=list[str], repr=False)
    """Filled by the engine at first use, so that rows need not ask for their names again."""


class Queries:
    """The statements of one `queries.sql`, by name: `queries["insert"]`."""

    def __init__(self, package: str, statements: dict[str, Statement]) -> None:
        self.package = package
        self._statements = statements

    def __getitem__(self, name: str) -> Statement:
        return self._statements[name]

    def all(self) -> list[Statement]:
        """Every statement, in the order of the file."""
        return list(self._statements.values())


def load(package: str, file: str = "queries.sql") -> Queries:
    """The queries of a room: `queries = statements.load(__package__)`."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    return Queries(package, parse(text, source=f"{package}/{file}"))


def parse(text: str, *, source: str) -> dict[str, Statement]:
    """The named statements of a text."""
    found: dict[str, dict[str, str]] = {}
    prose: dict[str, str] = {}
    headers = list(_HEADER.finditer(text))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)]
        lines = body.strip().splitlines()
        told = [line[2:].strip() for line in lines if line.startswith("--")]
        sql = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
        name, engine = header["name"], header["engine"] or "both"
        variants = found.setdefault(name, {})
        if engine in variants or not sql:
            raise ValueError(f"{source}: {name!r} is defined twice or is empty")
        variants[engine] = sql
        prose.setdefault(name, " ".join(told))
    return {
        name: _statement(name, prose[name], variants, source=source)
        for name, variants in found.items()
    }


def _statement(name: str, prose: str, variants: dict[str, str], *, source: str) -> Statement:
    common = variants.get("both")
    sqlite, postgres = variants.get("sqlite", common), variants.get("postgres", common)
    if sqlite is None or postgres is None:
        raise ValueError(f"{source}: {name!r} is missing for one engine")
    if not prose:
        raise ValueError(f"{source}: {name!r} has no line of prose")
    return Statement(name=name, prose=prose, sqlite=sqlite, postgres=_for_psycopg(postgres))


def _for_psycopg(sql: str) -> str:
    def rewrite(match: re.Match[str]) -> str:
        untouched, placeholder, percent = match.groups()
        if untouched is not None:
            return untouched.replace("%", "%%")
        return "%%" if percent else f"%({placeholder})s"

    return _TOKENS.sub(rewrite, sql)
