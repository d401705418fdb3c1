"""The one way to wait in a test: on a predicate, with a bound."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

WITHIN_SECONDS = 5.0
LOOK_SECONDS = 0.01


async def eventually(
    predicate: Callable[[], T | Awaitable[T]], *, within: float = WITHIN_SECONDS
) -> T:
    """The first true answer of the predicate; fails when none comes in time."""
    deadline = time.monotonic() + within
    while True:
        answer = predicate()
        value: T = await answer if inspect.isawaitable(answer) else answer
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{predicate} was still {value!r} after {within} s")
        await asyncio.sleep(LOOK_SECONDS)


def eventually_here(predicate: Callable[[], T], *, within: float = WITHIN_SECONDS) -> T:
    """The same for a test that has no event loop, because it looks after real processes."""
    return asyncio.run(eventually(predicate, within=within))
