"""One application out of everybody's routes."""

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.registry import CollectorRegistry

import coven
from coven.daemon import events, state, upkeep
from coven.daemon.daemon import Daemon
from coven.doors import http
from coven.doors import routes as token_routes
from coven.doors.http import Doors
from coven.notifications import routes as notifications


def make(daemon: Daemon) -> Doors:
    """The application that both sockets serve."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return http.build(
        [
            state.routes(daemon, registry),
            events.routes(),
            upkeep.routes(daemon),
            token_routes.router(daemon.access),
            notifications.router,
        ],
        title="Coven",
        version=coven.__version__,
        store=daemon.store,
        access=daemon.access,
        registry=registry,
    )
