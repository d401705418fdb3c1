"""What no single room can answer: the whole state, the daemon's health, its end."""

import asyncio
import platform
from typing import Any

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import CollectorRegistry
from pydantic import Field

import coven
from coven.agents import records as agents
from coven.core import clock as clocks
from coven.daemon.daemon import Daemon
from coven.doors import http
from coven.doors.answers import Answer
from coven.doors.callers import AdministeringDaemon, Reading, ReadingDaemon
from coven.doors.shapes import InstantText, Output
from coven.questions import records as questions
from coven.store import View, events
from coven.store.migrations import VERSION_KEY
from coven.store.queries import queries
from coven.tasks import records as tasks

API = "v1"


class State(Output):
    """Everything that is going on, as of one instant."""

    tasks: list[dict[str, Any]]
    agents: list[dict[str, Any]]
    workflows: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    seq: int = Field(description="The number of the last event that this state contains.")
    cursor: str = Field(description="The same as a cursor: follow `/events` from here on.")
    timestamp: InstantText


class Health(Output):
    """Whether the daemon can do its work."""

    status: str = Field(description="`ok`; a daemon that cannot work does not answer.")
    version: str
    uptime_seconds: float
    store: str = Field(description="`sqlite` or `postgres`.")
    pid: int


class Version(Output):
    """What is running here."""

    name: str
    version: str
    api: str
    schema_version: int
    python: str


class Stopping(Output):
    """The end has begun."""

    stopping: bool


def snapshot(view: View) -> State:
    """The state of one project; everything in it is from the same view."""
    end = events.end(view)
    return State(
        tasks=[task.as_json() for task in tasks.tasks(view)],
        agents=[agent.as_json() for agent in agents.all(view)],
        workflows=[workflow.as_json() for workflow in tasks.workflows(view)],
        questions=[question.as_json() for question in questions.all(view)],
        seq=end.seq,
        cursor=end.render(),
        timestamp=clocks.render(view.now),
    )


def schema_version(view: View) -> int:
    """How many migrations the store has seen."""
    row = view.first(queries["meta_value"], key=VERSION_KEY)
    return int(row["value"]) if row else 0


def routes(daemon: Daemon, registry: CollectorRegistry) -> APIRouter:
    """The routes of the daemon itself."""
    router = http.router(tag="daemon", claims_keys=False)
    started = daemon.clock.monotonic()

    @router.get("/state", summary="Everything that is going on")
    async def get_state(caller: Reading) -> State:
        return await caller.store.read(snapshot)

    @router.get("/health", summary="Whether the daemon can do its work")
    async def get_health() -> Health:
        await daemon.store.read(schema_version)
        return Health(
            status="ok",
            version=coven.__version__,
            uptime_seconds=round(daemon.clock.monotonic() - started, 3),
            store=daemon.store.engine,
            pid=daemon.pid,
        )

    @router.get("/version", summary="What is running here")
    async def get_version() -> Version:
        return Version(
            name="coven",
            version=coven.__version__,
            api=API,
            schema_version=await daemon.store.read(schema_version),
            python=platform.python_version(),
        )

    @router.get(
        "/metrics",
        summary="Measurements for Prometheus",
        response_model=None,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def get_metrics(caller: ReadingDaemon) -> Answer:
        headers = [(b"content-type", CONTENT_TYPE_LATEST.encode())]
        body = await asyncio.to_thread(generate_latest, registry)  # it reads /proc
        return Answer(200, body, headers)

    @router.post("/shutdown", status_code=202, summary="End the daemon in good order")
    async def post_shutdown(caller: AdministeringDaemon) -> Stopping:
        daemon.stop(f"asked to by {caller.principal.name}")
        return Stopping(stopping=True)

    return router
