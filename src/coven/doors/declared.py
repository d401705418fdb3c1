"""Declared routes: what a room says about a route besides FastAPI's own words.

The first sentence of the function's docstring is the summary, in the OpenAPI document and in the
reference; what follows it is the description. And a router says whether the use cases behind its
routes claim the key of a request, or leave that to the door (`doors.repeats`).
"""

import inspect
from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute


class DeclaredRoute(APIRoute):
    """A route as rooms declare it: its use case claims `caller.key` in its first transaction."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **told: Any) -> None:
        super().__init__(path, endpoint, **told)
        if self.summary is None:
            self.summary, self.description = _said(endpoint)


class KeylessRoute(DeclaredRoute):
    """A route without a transaction of its own: the door claims the key before it acts.

    What it does must be harmless when it is done again, because after a crash it is.
    """


def _said(endpoint: Callable[..., Any]) -> tuple[str, str]:
    """The summary and the description."""
    text = inspect.getdoc(endpoint) or ""
    first, _, more = text.partition("\n\n")
    sentence, _, rest = " ".join(first.split()).partition(". ")
    return sentence.removesuffix("."), "\n\n".join(part for part in (rest, more) if part)
