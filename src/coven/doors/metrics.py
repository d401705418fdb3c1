"""Metrics of requests: how many, how they ended, how long they took, by route.

Counted in plain dictionaries on the event loop, which is all that touches them, and turned into
Prometheus families when somebody asks. The label is the route's template, never the path: the
number of series must not be the caller's choice.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

_BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class _Times:
    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_SECONDS) + 1))
    seconds: float = 0.0


class RequestMetrics(Collector):
    """What the doors have seen since the start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._times: dict[tuple[str, str], _Times] = {}
        self.open_streams = 0
        registry.register(self)

    def answered(self, route: str, method: str, status: int, *, seconds: float) -> None:
        """One request was answered, or its stream was opened."""
        counted = (route, method, status)
        self._requests[counted] = self._requests.get(counted, 0) + 1
        times = self._times.get((route, method))
        if times is None:
            times = self._times[route, method] = _Times()
        times.counts[bisect_left(_BUCKETS_SECONDS, seconds)] += 1
        times.seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """The families, as Prometheus wants them."""
        requests = CounterMetricFamily(
            "coven_requests",
            "Requests that were answered.",
            labels=("route", "method", "status"),
        )
        for (route, method, status), count in list(self._requests.items()):
            requests.add_metric((route, method, str(status)), count)
        yield requests
        seconds = HistogramMetricFamily(
            "coven_request_seconds",
            "Time until a request was answered.",
            labels=("route", "method"),
        )
        for labels, times in list(self._times.items()):
            seconds.add_metric(labels, _cumulated(times.counts), times.seconds)
        yield seconds
        yield GaugeMetricFamily(
            "coven_open_streams", "Event streams that are open.", value=self.open_streams
        )


def _cumulated(counts: list[int]) -> list[tuple[str, float]]:
    total, buckets = 0, list[tuple[str, float]]()
    for bound, count in zip((*map(str, _BUCKETS_SECONDS), "+Inf"), counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets
