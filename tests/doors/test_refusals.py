"""What refusals look like: one shape, a status that says what to do, and nothing of our inside."""

import pytest
import structlog.testing
from fastapi import APIRouter
from prometheus_client.registry import CollectorRegistry
from structlog.typing import EventDict

from coven.core.errors import CovenError, Kind
from coven.doors import access, callers, errors, http
from coven.doors.http import Doors
from coven.store import Store
from tests.doors.asgi import Call
from tests.doors.conftest import OWNER_TOKEN, through_port

SECRET = "postgresql://user:hunter2@db"


class Refused(CovenError):
    """It was refused, with {details!r}."""

    code = "TEST_REFUSED"
    kind = Kind.UNAVAILABLE
    remedy = "Wait."


class Broken(CovenError):
    """The inside says {secret}."""

    code = "TEST_BROKEN"
    kind = Kind.BUG


@pytest.fixture
def engine_name() -> str:
    """What is tested here ends before the store."""
    return "sqlite"


@pytest.fixture
def router() -> APIRouter:
    made = http.router("/test", tag="test")

    @made.get("/defect")
    async def defect(caller: callers.Reading) -> None:
        raise ZeroDivisionError(SECRET)

    @made.get("/broken")
    async def broken(caller: callers.Reading) -> None:
        raise Broken(secret=SECRET)

    @made.get("/refused")
    async def refused(caller: callers.Reading) -> None:
        raise Refused(odd=object, raw=b"\xff", nan=float("nan"), half="\ud800")

    return made


@pytest.fixture
def doors(router: APIRouter, store: Store, access: access.Access) -> Doors:
    registry = CollectorRegistry()
    return http.build(
        [router], title="T", version="1", store=store, access=access, registry=registry
    )


@pytest.mark.parametrize("path", ["/test/defect", "/test/broken"])
async def test_a_defect_is_logged_whole_and_told_by_its_id_only(doors: Doors, path: str) -> None:
    with structlog.testing.capture_logs() as logs:
        async with through_port(doors, OWNER_TOKEN) as door:
            reply = await door.get(path, headers={"X-Request-Id": "req-7"})
    assert reply.status_code == 500
    error = reply.json()["error"]
    assert error["code"] == "INTERNAL_ERROR"
    assert error["details"] == {"request_id": "req-7"}
    assert "hunter2" not in reply.text
    assert "Traceback" not in reply.text
    logged: EventDict = logs[0]
    assert logged["event"] == "request_failed"
    assert logged["request_id"] == "req-7"
    assert logged["exc_info"] is not None


async def test_details_that_json_cannot_say_do_not_make_a_refusal_a_defect(doors: Doors) -> None:
    async with through_port(doors, OWNER_TOKEN) as door:
        reply = await door.get("/test/refused")
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"
    assert set(reply.json()["error"]) == {"code", "message", "details", "remedy"}


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_status(kind: Kind) -> None:
    assert 400 <= errors.STATUS[kind] < 600


@pytest.mark.parametrize("path", ["/", "/nope", "/test/defect/", "//test/defect", "/test"])
async def test_nothing_at_a_path_is_404_in_our_shape(doors: Doors, path: str) -> None:
    call = await Call(path=path).run(doors)
    assert call.status == 404
    assert call.error["code"] == "ROUTE_NOT_FOUND"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
async def test_a_method_that_is_not_taken_is_405_and_names_the_ones_that_are(
    doors: Doors, method: str
) -> None:
    call = await Call(path="/test/defect", method=method).run(doors)
    assert call.status == 405
    assert call.headers[b"allow"] == b"GET, HEAD"
    assert call.error["code"] == "METHOD_NOT_ALLOWED"


async def test_every_reply_carries_its_id_and_is_neither_sniffed_nor_stored(doors: Doors) -> None:
    for path in ("/nope", "/docs", "/openapi.json"):
        call = await Call(path=path).run(doors)
        assert call.headers[b"x-content-type-options"] == b"nosniff"
        assert call.headers[b"cache-control"] == b"no-store"
        assert len(call.headers[b"x-request-id"]) == 36


@pytest.mark.parametrize("given", [b"", b"a b", b"x" * 65, b"a\r\nb", b"\xff"])
async def test_an_id_that_could_forge_a_log_line_is_replaced(doors: Doors, given: bytes) -> None:
    call = await Call(path="/nope", headers=[(b"x-request-id", given)]).run(doors)
    assert call.headers[b"x-request-id"] != given


async def test_two_routes_may_not_answer_the_same_request(
    router: APIRouter, store: Store, access: access.Access
) -> None:
    with pytest.raises(ValueError, match="two routes answer GET /test/defect"):
        http.build(
            [router, router],
            title="T",
            version="1",
            store=store,
            access=access,
            registry=CollectorRegistry(),
        )
