"""The same client for programs that do not await: a thin runner, not a second client.

One thread of its own runs the event loop. Whatever the asynchronous client offers is offered here
under the same name: a coroutine becomes its result, an asynchronous iterator an iterator, an
asynchronous context manager a context manager. Nothing is written twice, so nothing can differ.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from dataclasses import is_dataclass
from types import TracebackType
from typing import Any, Self


class Runner:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="coven", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of the coroutine; Ctrl-C while it runs cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        if self._loop.is_closed():
            return
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Blocking:
    """Something of the asynchronous client, used without await."""

    def __init__(self, target: Any, runner: Runner, *, owns_runner: bool = False) -> None:
        self._target = target
        self._runner = runner
        self._owns_runner = owns_runner

    def __getattr__(self, name: str) -> Any:
        return self._offered(getattr(self._target, name))

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"

    def __enter__(self) -> Any:
        return self._offered(self._runner.run(_entered(self._target)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._runner.run(_left(self._target, kind, error, trace))
        finally:
            if self._owns_runner:
                self._runner.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self._offered(self._runner.run(_next(self._target)))
        except StopAsyncIteration:
            raise StopIteration from None

    def _offered(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return self._offered(self._runner.run(value))
        if value is self._target:
            return self
        if inspect.ismethod(value):
            return self._waiting(value)
        if hasattr(value, "__anext__") or _is_part_of_the_client(value):
            return Blocking(value, self._runner)
        return value

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._offered(method(*args, **kwargs))

        call.__name__, call.__doc__ = method.__name__, method.__doc__
        return call


def _is_part_of_the_client(value: Any) -> bool:
    return type(value).__module__.startswith("coven.client.") and not is_dataclass(value)


async def _entered(target: Any) -> Any:
    return await target.__aenter__()


async def _left(target: Any, *reason: Any) -> None:
    await target.__aexit__(*reason)


async def _next(target: Any) -> Any:
    return await target.__anext__()
