"""Whether the log is what it promises to be: each event of a project once, without gap, in time.

The same on both engines, in one consistent view. Here are the promises that no constraint of a
database can hold; pages, indexes and references are looked at by each engine in its own way.
"""

from collections.abc import Iterator

from coven.store.engine import Link
from coven.store.queries import queries as basics
from coven.store.statements import load
from coven.store.transaction import Row

PROBLEMS_MAX = 100  # of each kind: enough to see what has happened

queries = load("coven.store", "check.sql")


def problems(link: Link) -> list[str]:
    """What is wrong with the log of any project; that there is no log at all, where that is so."""
    if not link.rows(basics["has_meta"], {}):
        return ["the tables of the store are missing"]
    return list(_problems(link))


def _problems(link: Link) -> Iterator[str]:
    for log in link.rows(queries["logs"], {}):
        for problem in _compared(log):
            yield f"project {log['project_id']}: {problem}"
    for row in link.rows(queries["headless"], {}):
        yield f"project {row['project_id']}: there are events, but the head of the log is missing"
    for row in link.rows(queries["gaps"], {"limit": PROBLEMS_MAX}):
        yield f"project {row['project_id']}: before event {row['seq']} one is missing"
    for row in link.rows(queries["times"], {"limit": PROBLEMS_MAX}):
        yield f"project {row['project_id']}: event {row['seq']} is not later than the one before"


def _compared(log: Row) -> Iterator[str]:
    """A head, and the events that it says there are."""
    wanted = log["seq"] - log["floor"]
    if log["kept"] != wanted:
        yield f"{wanted} events should be kept and {log['kept']} are"
    if log["kept"] == 0:
        return
    if log["first"] != log["floor"] + 1:
        yield f"the first event is {log['first']}, and {log['floor'] + 1} should be"
    if log["last"] != log["seq"]:
        yield f"the last event is {log['last']}, and {log['seq']} should be"
    if log["newest"] > log["last_at"]:
        yield f"an event is of {log['newest']}, later than the log knows ({log['last_at']})"
