"""The OpenAPI document and the page that shows it.

FastAPI reads the routes; what it cannot know is added here, the same for every route: the one error
shape with the statuses that can come, who may call, the project, the Idempotency-Key. Made when
somebody first asks for it, because most starts of a daemon end without anybody asking.
"""

import asyncio
import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import resources
from typing import Any, cast

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic_core import to_json

from coven.core.errors import CovenError
from coven.doors import errors
from coven.doors.answers import Answer, Ready
from coven.doors.arrival import Arrival
from coven.doors.callers import Needs
from coven.doors.shapes import Error

Json = dict[str, Any]

_ABOUT = (
    "Every mutation accepts an `Idempotency-Key`, lists are read in pieces with `cursor`, times "
    "are RFC 3339 in UTC with microseconds, and every refusal has the shape `Error`. HEAD is "
    "answered wherever GET is."
)
_MEANING = {
    "400": "The request cannot be read.",
    "401": "A token is missing, or not known here.",
    "403": "The caller may not do this, or came in a way that is refused.",
    "404": "There is no such thing.",
    "409": "The state does not allow it.",
    "410": "It is not kept any more.",
    "412": "The caller acts under a generation that has ended.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "The request can be read but does not mean anything.",
    "429": "Too many; wait or free something.",
    "500": "A defect of Coven.",
    "503": "Not now; try again.",
    "default": "Any other refusal.",
}
_OF_ONE_PROJECT = (
    "The caller may not do this. `FOREIGN_PROJECT`: this concerns the whole daemon, and the token "
    "acts in a project that is not the daemon's own."
)
_METHODS = frozenset(("get", "post", "put", "patch", "delete", "head", "options", "trace"))
_CLOSED = frozenset(("enum", "const", "format"))
_NO_NUL = r"^[^\u0000]*$"
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)
_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "1 to 200 visible ASCII characters. The same request with the same key within 24 hours "
        "gets the reply of the first one, with `Idempotency-Replayed: true`."
    ),
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
_PROJECT_PARAMETER = {
    "name": "X-Coven-Project",
    "in": "header",
    "required": False,
    "description": "The project that the call is about; without it the token's, or the default.",
    "schema": {"type": "string", "pattern": "^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$"},
}
_REQUEST_ID = {
    "description": "The id by which the log knows this request.",
    "schema": {"type": "string"},
}


def operation_id(route: APIRoute) -> str:
    """The name that generated clients use: the room's word and the function's."""
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name


def raises(*refusals: type[CovenError]) -> dict[int | str, Json]:
    """What a route may be refused with besides what every route may: for `responses=`."""
    told: dict[int | str, Json] = {}
    for refusal in refusals:
        status = errors.status_of(refusal)
        sentence = " ".join((refusal.__doc__ or "").split("\n\n")[0].split())
        before = told.get(status, {}).get("description", "")
        told[status] = {"description": f"{before} `{refusal.code}`: {sentence}".strip()}
    return told


class Document:
    """What this daemon answers, for programs and for people."""

    def __init__(
        self, needed: Sequence[tuple[APIRoute, Needs | None]], *, title: str, version: str
    ) -> None:
        """`needed` says for each route what its caller needs; None is an open route."""
        self._needed = needed
        self._title = title
        self._version = version

    def pages(self) -> list[tuple[APIRoute, Ready]]:
        """Where the document is found."""
        return [
            (APIRoute("/openapi.json", _nothing), _Page(self._render_json)),
            (APIRoute("/docs", _nothing), _Page(_docs)),
        ]

    @cached_property
    def json(self) -> Json:
        """The document itself."""
        document = get_openapi(
            title=self._title,
            version=self._version,
            openapi_version="3.1.0",
            description=_ABOUT,
            routes=[route for route, _ in self._needed],
        )
        components: Json = document.setdefault("components", {})
        _share(components)
        by_path = {
            (route.path_format, method.lower()): needs
            for route, needs in self._needed
            for method in route.methods or ()
        }
        seen: set[str] = set()
        for path, item in document.get("paths", {}).items():
            for method in _METHODS & item.keys():
                operation: Json = item[method]
                if operation["operationId"] in seen:
                    raise ValueError(f"two operations are called {operation['operationId']}")
                seen.add(operation["operationId"])
                _complete(operation, method, by_path[path, method])
        _forbid_nul(document)
        return document

    def _render_json(self) -> Answer:
        return Answer(200, to_json(self.json))


class _Page:
    """A reply that is the same for everybody, made at the first request."""

    def __init__(self, make: Callable[[], Answer]) -> None:
        self._make = make
        self._made: Answer | None = None

    async def answer(self, arrival: Arrival, given: dict[str, str]) -> Answer:
        if self._made is None:
            # It takes a tenth of a second, which other requests need not wait for.
            self._made = await asyncio.to_thread(self._make)
        return self._made


def _share(components: Json) -> None:
    schemas: Json = components.setdefault("schemas", {})
    # FastAPI's own error shape is never sent.
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    shape = Error.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(shape.pop("$defs"))
    schemas["Error"] = shape
    components["headers"] = {"X-Request-Id": _REQUEST_ID}
    components["responses"] = {
        f"Refused{status.capitalize()}": _refused(meaning) for status, meaning in _MEANING.items()
    }
    components["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "The text of `.coven/token`, or a token of `/api/v1/tokens`.",
        }
    }


def _complete(operation: Json, method: str, needs: Needs | None) -> None:
    """Add to one operation what is the same for all."""
    responses: Json = operation.setdefault("responses", {})
    parameters: list[Json] = operation.setdefault("parameters", [])
    if str(responses.get("422", {}).get("description", "")) == "Validation Error":
        del responses["422"]
    for status, response in responses.items():
        response.setdefault("headers", {})["X-Request-Id"] = _reference("headers", "X-Request-Id")
        if status.startswith(("4", "5")):
            response["content"] = _refused("")["content"]
        content: Json = response.get("content", {})
        if len(content) > 1 and content.get("application/json", {}).get("schema") == {}:
            # FastAPI's guess about a reply that a route describes itself, in another type.
            del content["application/json"]
    possible = ["400", "403", "500", "503", "default"]
    if any(parameter["in"] == "path" for parameter in parameters):
        possible.append("404")
    if "requestBody" in operation:
        possible += ["413", "415", "422"]
    if needs is None:
        operation["security"] = []
    else:
        possible.append("401")
        _complete_caller(operation, needs)
        if method not in ("get", "head"):
            possible.append("422")
            parameters.append(_KEY_PARAMETER)
    for status in possible:
        responses.setdefault(status, _reference("responses", f"Refused{status.capitalize()}"))


def _complete_caller(operation: Json, needs: Needs) -> None:
    """Add to one operation who may call it."""
    operation["security"] = [{"token": []}]
    operation["x-coven-scope"] = needs.scope.value
    operation["x-coven-whole-daemon"] = needs.whole_daemon
    if needs.whole_daemon:
        operation["responses"].setdefault("403", _refused(_OF_ONE_PROJECT))
    else:
        operation["parameters"].append(_PROJECT_PARAMETER)


def _forbid_nul(part: Any) -> None:
    """Say in every text's schema what `doors.bodies` refuses in every text."""
    if isinstance(part, list):
        for inner in cast("list[Any]", part):
            _forbid_nul(inner)
    elif isinstance(part, dict):
        schema = cast("Json", part)
        if schema.get("type") == "string" and not _CLOSED & schema.keys():
            if "pattern" not in schema:
                schema["pattern"] = _NO_NUL
            elif not str(schema["pattern"]).startswith("^"):
                schema["allOf"] = [{"pattern": _NO_NUL}]
        for inner in schema.values():
            _forbid_nul(inner)


def _refused(meaning: str) -> Json:
    schema = _reference("schemas", "Error")
    return {
        "description": meaning,
        "headers": {"X-Request-Id": _reference("headers", "X-Request-Id")},
        "content": {"application/json": {"schema": schema}},
    }


def _reference(section: str, name: str) -> Json:
    return {"$ref": f"#/components/{section}/{name}"}


def _docs() -> Answer:
    page = resources.files(__package__ or "").joinpath("docs.html").read_bytes()
    # The page may run its own script and style and fetch from us; nothing else, from nowhere else.
    allowed: dict[str, str] = {}
    for name, content in _INLINE.findall(page.decode()):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        allowed[name] = f"'sha256-{digest}'"
    policy = (
        f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode()),
    ]
    return Answer(200, page, headers)


async def _nothing() -> None:
    """Stands for a page that is answered without a route."""
