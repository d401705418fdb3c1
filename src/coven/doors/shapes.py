"""Shapes: what bodies and replies look like, and the words that every room's routes share.

`Input` is what comes in: strict about types, closed against unknown fields. `Output` is what goes
out: made from a room's value with `of`. Pydantic lives here and in the rooms' `routes.py`, where
text from outside becomes values; nowhere else.
"""

import re
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from coven.core import ids, pages

ItemT = TypeVar("ItemT")

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)
_ID_SCHEMA = {"type": "string", "format": "uuid"}
_CURSOR_CHARACTERS_MAX = 1024


class Input(BaseModel):
    """What a body may hold: nothing but its fields, each of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Output(BaseModel):
    """What a reply holds."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    holds_secret: ClassVar[bool] = False
    """Such a reply is never written down, not even to repeat it for an Idempotency-Key."""

    @classmethod
    def of(cls, value: object) -> Self:
        """This shape of a room's value, attribute by attribute."""
        return cls.model_validate(value)


class Listing(Output, Generic[ItemT]):
    """A piece of a list."""

    items: list[ItemT] = Field(description="Rows of the list, in its order.")
    next_cursor: str | None = Field(description="Send it as `cursor` to read on; null at the end.")
    has_more: bool = Field(description="Whether there are more rows after these.")


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    code: str = Field(description="Stable; what a program compares.", examples=["INVALID_BODY"])
    message: str = Field(description="One sentence for a person.")
    details: dict[str, Any] = Field(description="The facts behind the message, by name.")
    remedy: str = Field(description="What to do next.")


class Error(BaseModel):
    """The one shape of every refusal."""

    error: Problem


def _whole(given: Any) -> Any:
    if isinstance(given, str):
        if _WHOLE.fullmatch(given) is None:
            raise ValueError("must be a whole number")
        return int(given)
    return given


def _flag(given: Any) -> Any:
    if isinstance(given, str):
        if given not in ("true", "false"):
            raise ValueError("must be true or false")
        return given == "true"
    return given


Whole = BeforeValidator(_whole)
"""For a number in a query: digits and nothing else. It stands behind the number's limits, which
would otherwise not reach the OpenAPI document."""

Flag = Annotated[bool, BeforeValidator(_flag)]
"""A yes or no in a query: `true` or `false` and nothing else."""

Limit = Annotated[
    int,
    Field(ge=1, le=pages.ROWS_MAX),
    Whole,
    Query(description="How many rows at most in this piece."),
]
"""How many rows a list shows at once; default it to `pages.ROWS_DEFAULT`."""

CursorText = Annotated[
    str | None,
    Query(
        max_length=_CURSOR_CHARACTERS_MAX,
        description="`next_cursor` of the piece before; without it the list begins.",
    ),
]
"""Where a list continues."""

IdText = Annotated[
    str, AfterValidator(ids.parse), WithJsonSchema(_ID_SCHEMA), Path(description="Its id.")
]
"""An id in a path."""

InstantText = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
"""A point in time in a reply, RFC 3339 in UTC with microseconds."""
