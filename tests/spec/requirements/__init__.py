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
PROVED: tuple[str, ...] = (
    *("R-46", "R-47"),
    *("U-03", "U-04", "U-05", "U-06", "U-07"),
    *("U-24", "U-25", "U-26", "U-27", "U-28", "U-30"),
    *("U-31", "U-32", "U-33", "U-34", "U-36", "U-37"),
    *("U-43", "U-50"),
)
