"""Parameters: what a path, a query and a few headers say, checked against a route's signature.

A parameter that nobody declared is refused: a filter with a typing error in its name must not
quietly answer with everything.
"""

from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import params
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from coven.doors.errors import InvalidParameters, problems

_PARAMETERS_MAX = 50

Values = dict[str, Any]


class PathParameters:
    """The parts of a path that are values."""

    def __init__(self, annotations: dict[str, Any]) -> None:
        self._adapters: dict[str, TypeAdapter[Any]] = {
            name: TypeAdapter(annotation) for name, annotation in annotations.items()
        }

    def read(self, given: dict[str, str]) -> Values:
        """The values, each checked."""
        return {
            name: _checked(adapter, name, given[name]) for name, adapter in self._adapters.items()
        }


class HeaderParameters:
    """Headers that a route asks for by name."""

    def __init__(self, wanted: dict[str, tuple[Any, Any]]) -> None:
        self._wanted = [
            (name, _header_name(name, annotation), TypeAdapter[Any](annotation), default)
            for name, (annotation, default) in wanted.items()
        ]

    def read(self, headers: dict[bytes, bytes]) -> Values:
        """The values, or their defaults."""
        values: Values = {}
        for name, header, adapter, default in self._wanted:
            raw = headers.get(header)
            if raw is not None:
                values[name] = _checked(adapter, header.decode(), raw.decode("latin-1"))
            elif default is ...:
                raise _refusal([{"loc": (header.decode(),), "msg": "is missing"}])
            else:
                values[name] = default
        return values


class QueryParameters:
    """What stands behind the question mark."""

    def __init__(self, wanted: dict[str, tuple[Any, Any]]) -> None:
        fields: dict[str, Any] = dict(wanted)
        self._model: type[BaseModel] = create_model(
            "Query", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields
        )
        self._names = list(wanted)
        required = any(default is ... for _, default in wanted.values())
        self._defaults = None if required else self._values({})

    def read(self, query: bytes) -> Values:
        """The values, or their defaults."""
        if not query and self._defaults is not None:
            return dict(self._defaults)
        return self._values(_split(query))

    def _values(self, given: dict[str, str]) -> Values:
        try:
            model = self._model.model_validate(given)
        except ValidationError as error:
            found: list[Any] = list(error.errors(include_url=False, include_input=False))
            raise _refusal(found) from None
        return {name: getattr(model, name) for name in self._names}


def _header_name(name: str, annotation: Any) -> bytes:
    if get_origin(annotation) is Annotated:
        for mark in get_args(annotation)[1:]:
            if isinstance(mark, params.Header) and mark.alias:
                return mark.alias.lower().encode()
    return name.replace("_", "-").encode()


def _split(query: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_PARAMETERS_MAX,
        )
    except ValueError:
        raise _refusal([{"loc": ("(query)",), "msg": "is not percent-encoded UTF-8"}]) from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise _refusal([{"loc": ("(query)",), "msg": "gives a parameter twice"}])
    for name, value in pairs:
        if "\x00" in value or "\x00" in name:
            raise _refusal([{"loc": (name.replace("\x00", "?"),), "msg": "has a NUL character"}])
    return given


def _checked(adapter: TypeAdapter[Any], name: str, text: str) -> Any:
    try:
        return adapter.validate_python(text)
    except ValidationError as error:
        found = [{"loc": (name,), "msg": one["msg"]} for one in error.errors(include_url=False)]
        raise _refusal(found) from None


def _refusal(found: list[Any]) -> InvalidParameters:
    told = problems(found)
    first = "; ".join(f"{one['field']}: {one['problem']}" for one in told)
    return InvalidParameters(problem=first, parameters=told)
