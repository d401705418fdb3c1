"""The start of the daemon, in order: lock, schema, recovery, loops, doors; and its end, backwards.

Nothing is opened before the lock is ours, nothing is answered before recovery is done, and the
address is written only when the doors are open: whoever finds it can use it. The end needs no luck:
everything that matters is in the store already, so `kill -9` is just a faster way to stop.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import uvloop

import coven
from coven.config import Settings
from coven.core import clock as clocks
from coven.core import failpoints, terminal
from coven.core.clock import SystemClock
from coven.core.errors import CovenError
from coven.daemon import (
    address,
    announcement,
    app,
    config_file,
    files,
    locks,
    logs,
    node,
    older_layout,
    recovery,
    revocations,
    token,
)
from coven.daemon.address import Address
from coven.daemon.daemon import Daemon
from coven.daemon.listening import Listening
from coven.daemon.loops import Loops
from coven.daemon.lost_files import LostFiles
from coven.daemon.model import DaemonStopped
from coven.daemon.retention import Retention
from coven.daemon.rooms import ROOMS
from coven.doors import tokens
from coven.doors.access import Access
from coven.store import Store, open_store

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.0005

Render = Callable[[Daemon, list[str]], str]
"""How the announcement looks: for a person, or for a program."""

LOCKED = failpoints.declare("daemon.boot.locked", "the lock is taken, the store is not open")
OPENED = failpoints.declare("daemon.boot.opened", "the schema is ready, nothing is recovered")
RECOVERED = failpoints.declare("daemon.boot.recovered", "recovery is done, the doors are closed")
ANSWERING = failpoints.declare(
    "daemon.boot.answering", "the doors are open, the address is not told"
)
STOPPING = failpoints.declare("daemon.stop.begun", "the end has begun, nothing is closed")


@asynccontextmanager
async def running(
    settings: Settings, clock: SystemClock | None = None, *, logged: bool = False
) -> AsyncGenerator[Daemon]:
    """A daemon, for the length of a `with`; `logged` when this process is nothing else."""
    clock = clock or SystemClock(settings.clock_offset)
    async with contextlib.AsyncExitStack() as opened:
        held = await asyncio.to_thread(_take_locks, settings, clock)
        opened.push_async_callback(asyncio.to_thread, held.close)
        failpoints.hit(LOCKED)
        if logged:
            foreground = sys.stderr.isatty()
            writing = logs.configure(settings, foreground=foreground, clock=clock)
            opened.push_async_callback(asyncio.to_thread, writing.close)
        problems = await asyncio.to_thread(config_file.complete, settings)
        clean = not await asyncio.to_thread(settings.address_file.exists)
        listening = await asyncio.to_thread(Listening, settings.port, settings.socket)
        opened.push_async_callback(listening.close)
        store = await open_store(settings.store_url, clock=clock, rooms=ROOMS)
        opened.push_async_callback(store.close)
        failpoints.hit(OPENED)
        daemon = await _prepared(settings, clock, store=store, listening=listening)
        daemon.problems += problems
        await recovery.run(
            store,
            daemon.node,
            version=coven.__version__,
            clean=clean,
            recoveries=recovery.RECOVERIES,
        )
        failpoints.hit(RECOVERED)
        daemon.loops.start()
        opened.push_async_callback(daemon.loops.close)
        doors = app.make(daemon)
        await listening.serve(doors)
        # Streams are let go first, or the servers would wait for them.
        opened.push_async_callback(listening.close)
        opened.callback(doors.close)
        failpoints.hit(ANSWERING)
        if logged:
            _heed_signals(daemon)  # before anybody can know whom to send one
        await asyncio.to_thread(_tell_address, daemon)
        opened.push_async_callback(asyncio.to_thread, _withdraw_address, daemon)
        yield daemon
        failpoints.hit(STOPPING)
        await _say_goodbye(daemon)


def run(settings: Settings, *, as_json: bool = False) -> int:
    """Be the daemon until somebody stops it; the exit code of the process."""
    files.make_state_directory(settings.state_directory)
    told = list(settings.problems)
    reminder = older_layout.check(settings)
    if reminder is not None:
        told.append(reminder)
    render = announcement.render_json if as_json else announcement.render
    # A writer thread that comes back from an fsync must not wait the usual 5 ms for the event loop
    # to let it run: measured, a third more writes and less than half the 99th percentile.
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_descriptors()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(settings, told, render))


async def _run(settings: Settings, told: list[str], render: Render) -> int:
    async with running(settings, logged=True) as daemon:
        _announce(await asyncio.to_thread(render, daemon, told + daemon.problems))
        log.info("the daemon is up at %s", daemon.url)
        await daemon.stopping.wait()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Whoever asks twice does not want to wait for requests that are under way.
            asyncio.get_running_loop().add_signal_handler(number, _end_now)
        told_as = logging.ERROR if daemon.failure else logging.INFO
        log.log(told_as, "the daemon stops: %s", daemon.reason)
    if daemon.failure is not None:
        raise daemon.failure
    return 0


def _announce(text: str) -> None:
    try:
        print(text, flush=True)
    except (OSError, ValueError) as error:
        # A full disk, a reader that went away: whoever wants the daemon has it all the same.
        log.warning("the announcement could not be printed: %s", error)
        terminal.hang_up()


def _allow_descriptors() -> None:
    """As many open files as the system lets us have: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _heed_signals(daemon: Daemon) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue  # `nohup`: it is to outlive its terminal
        loop.add_signal_handler(number, daemon.stop, signal.Signals(number).name)


def _end_now() -> None:
    raise SystemExit(1)


def _take_locks(settings: Settings, clock: SystemClock) -> contextlib.ExitStack:
    files.make_state_directory(settings.state_directory)
    return locks.take(settings, clock=clock)


async def _prepared(
    settings: Settings, clock: SystemClock, *, store: Store, listening: Listening
) -> Daemon:
    retention = Retention(store, settings)
    secret = await asyncio.to_thread(token.ensure, settings.token_file)
    access = Access(store, clock, owner_hash=tokens.digest(secret))
    kept = await asyncio.to_thread(LostFiles, settings)
    work = [retention.loop(), kept.loop(lambda failure: daemon.fail(failure))]
    if store.engine == "postgres":
        work.append(revocations.loop(access))
    daemon = Daemon(
        settings=settings,
        clock=clock,
        node=await asyncio.to_thread(node.ensure, settings.node_file),
        store=store,
        loops=Loops(work, clock),
        retention=retention,
        started_at=clocks.render(clock.now()),
        listening=listening,
        access=access,
        token=secret,
    )
    return daemon


def _tell_address(daemon: Daemon) -> None:
    address.write(
        daemon.settings.address_file,
        Address(
            pid=daemon.pid,
            url=daemon.url,
            socket=daemon.socket,
            version=coven.__version__,
            started_at=daemon.started_at,
        ),
    )


def _withdraw_address(daemon: Daemon) -> None:
    path = daemon.settings.address_file
    try:
        address.remove(path, pid=daemon.pid)
    except OSError as error:
        # The next start only takes this end for a crash.
        log.warning("%s could not be removed: %s", path.name, files.reason_of(error))


async def _say_goodbye(daemon: Daemon) -> None:
    event = DaemonStopped(entity_id=daemon.node, reason=daemon.reason)
    try:
        await daemon.store.write(recovery.tell, event)
    except CovenError as error:
        # A full disk must not keep the daemon from ending.
        log.warning("the end could not be written down: %s", error.message)
