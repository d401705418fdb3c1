"""The daemon's locks: its directory's, and its database's where that lies somewhere else.

Two projects may name one database file with `--store sqlite:/path`; only one of them may have it.
"""

from contextlib import ExitStack
from pathlib import Path

from coven.config import Settings
from coven.core.clock import Clock
from coven.store import lock


def take(settings: Settings, *, clock: Clock) -> ExitStack:
    """Take them at once, or DatabaseLocked; closing the stack gives them back."""
    with ExitStack() as taken:
        taken.enter_context(lock.take(settings.lock_file, clock=clock))
        scheme, _, path = settings.store_url.partition(":")
        if scheme == "sqlite":
            # By its real name, so that two links to one file are one file.
            database = Path(path).resolve()
            if database.parent != settings.state_directory.resolve() and database.parent.is_dir():
                beside = database.with_name(f"{database.name}.lock")
                taken.enter_context(lock.take(beside, clock=clock, with_directory=False))
        return taken.pop_all()
