"""What the doors count."""

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from coven.doors.http import Doors
from tests.doors.asgi import Call
from tests.doors.conftest import OWNER_TOKEN, through_port

URL = "/api/v1/notifications"


@pytest.fixture
def engine_name() -> str:
    """Requests are counted before and after the store."""
    return "sqlite"


async def test_requests_are_counted_by_template_and_never_by_path(
    doors: Doors, registry: CollectorRegistry
) -> None:
    async with through_port(doors, OWNER_TOKEN) as door:
        for number in range(3):
            await door.get(f"{URL}/{number}")
            await door.get(f"/nowhere/{number}")
        await door.get(URL)

    def count(route: str, status: int) -> float | None:
        labels = {"route": route, "method": "GET", "status": str(status)}
        return registry.get_sample_value("coven_requests_total", labels)

    assert count(f"{URL}/{{notification_id}}", 400) == 3
    assert count("(none)", 404) == 3
    assert count(URL, 200) == 1


async def test_an_invented_method_does_not_make_a_series(
    doors: Doors, registry: CollectorRegistry
) -> None:
    for method in ("BREW", "WHEN", "X" * 100):
        await Call(path=URL, method=method).run(doors)
    labels = {"route": URL, "method": "(other)", "status": "405"}
    assert registry.get_sample_value("coven_requests_total", labels) == 3


async def test_times_are_a_histogram_that_prometheus_can_read(
    doors: Doors, registry: CollectorRegistry
) -> None:
    async with through_port(doors, OWNER_TOKEN) as door:
        for _ in range(5):
            await door.get(URL)
    labels = {"route": URL, "method": "GET"}
    assert registry.get_sample_value("coven_request_seconds_count", labels) == 5
    top = registry.get_sample_value("coven_request_seconds_bucket", {**labels, "le": "+Inf"})
    assert top == 5
    assert b"coven_request_seconds_bucket" in generate_latest(registry)
