"""A dump: every row of every table as a line of JSON, for reading, moving and rescuing.

One consistent view, both engines, one format: `{"table": …, "row": {…}}`, bytes as base64. Rows are
passed on one at a time, so a table may be larger than memory. A dump is what is left when a file is
damaged: what cannot be read is told in its place and remembered, and the dump goes on behind it.
"""

import base64
import json
from collections.abc import Iterator

from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.store import engine
from coven.store.statements import load
from coven.store.store import make_engine

queries = load("coven.store", "dump.sql")


class Dump:
    """One dump of one store: read its lines to the end, then look at what was unreadable."""

    def __init__(self, url: str, *, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self.unreadable: list[str] = []
        """What could not be read so far, in the order of the lines; empty when all of it was."""

    def lines(self) -> Iterator[str]:
        """Each row as a line, and a line of its own for each place that could not be read.

        Raises what the store raises when it cannot be opened at all.
        """
        opened = make_engine(self._url, clock=self._clock)
        try:
            with opened.reading() as (link, _):
                for found in link.rows(queries["tables"], {}):
                    yield from self._table(link, found["name"])
        finally:
            opened.close()

    def _table(self, link: engine.Reading, table: str) -> Iterator[str]:
        try:
            for row in link.table(table):
                if isinstance(row, CovenError):
                    yield self._told(table, row)
                else:
                    told = {"table": table, "row": row}
                    yield json.dumps(told, default=_plain, ensure_ascii=False)
        except CovenError as error:
            yield self._told(table, error)

    def _told(self, table: str, error: CovenError) -> str:
        self.unreadable.append(f"{table}: {error.message}")
        return json.dumps({"table": table, "unreadable": error.message}, ensure_ascii=False)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
