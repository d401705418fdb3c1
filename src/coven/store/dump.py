"""A dump: every row of every table as a line of JSON, for reading, moving and rescuing.

One consistent view, both engines, one format: `{"table": …, "row": {…}}`, bytes as base64. It reads
table by table and tells what it cannot read instead of stopping, because a dump is what is left
when a file is damaged.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace

from coven.core.clock import Clock
from coven.core.errors import CovenError
from coven.store import engine
from coven.store.statements import load
from coven.store.store import make_engine

queries = load("coven.store", "dump.sql")


def lines(url: str, *, clock: Clock) -> Iterator[str]:
    """The lines of a dump."""
    opened = make_engine(url, clock=clock)
    try:
        with opened.reading() as (link, _):
            for row in link.rows(queries["tables"], {}):
                yield from _table(link, row["name"])
    finally:
        opened.close()


def _table(link: engine.Link, table: str) -> Iterator[str]:
    template = queries["rows"]
    statement = replace(
        template,
        sqlite=template.sqlite.replace("this_table", table),
        postgres=template.postgres.replace("this_table", table),
        columns=[],
    )
    try:
        for row in link.rows(statement, {}):
            yield json.dumps({"table": table, "row": row}, default=_plain, ensure_ascii=False)
    except CovenError as error:
        yield json.dumps({"table": table, "unreadable": error.message})


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
