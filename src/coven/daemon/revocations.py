"""Revoked tokens: a daemon ends the streams of a token that another daemon has revoked.

Who revokes a token here has its streams ended at once, by `doors.access`. On a shared store the
other daemons learn of it by looking, as they do before each request.
"""

from datetime import timedelta

from coven.daemon.loops import Loop
from coven.doors.access import Access

EVERY = timedelta(seconds=2)


def loop(access: Access) -> Loop:
    """The loop that looks; only a store that daemons share needs it."""
    return Loop(
        name="revoked_tokens",
        meaning="Ends the streams of tokens that another daemon on the same store has revoked.",
        every=EVERY,
        run_once=access.end_revoked,
    )
