"""Every promise of the specification, and which of them are delivered.

A new behaviour begins as a line here, then a failing test under `tests/spec`, then code.
"""

from tests.spec.requirements import runs, sessions, store, teams, workspaces
from tests.spec.requirements.promise import Promise

EVERY: dict[str, Promise] = {
    promise.id: promise
    for room in (workspaces, sessions, runs, store, teams)
    for promise in room.PROMISES
}

# What has been delivered: each of these has a test, from now on and for ever.
PROVED: tuple[str, ...] = ("R-46", "R-47")
