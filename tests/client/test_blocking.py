"""The client without await: the same words, thin and whole."""

import asyncio
import threading

import pytest

from coven.client import Coven, Event, NotFound
from coven.core import ids


def _work(directory) -> list[str]:
    told: list[str] = []
    with Coven.sync(directory) as coven:
        first = coven.notifications.post("test", "one")
        coven.notifications.post("test", "two")
        told.append(coven.notifications.get(first.id).title)
        told.extend(item.title for item in coven.notifications.list())
        with coven.events.follow(coven.state().cursor) as stream:
            posted = coven.notifications.read(first.id)
            happened = next(iter(stream))
            assert isinstance(happened, Event)
            told.append(happened.type)
        with coven.mirror() as mirror:
            assert mirror.reached(happened.seq).seq >= happened.seq
        assert posted.read_at is not None
        with pytest.raises(NotFound):
            coven.notifications.get(ids.new())
    return told


async def test_a_script_without_await_can_do_everything(daemon):
    """A script has no event loop; the daemon of this test does, so the script gets a thread."""
    told = await asyncio.to_thread(_work, daemon.settings.directory)
    assert told == ["one", "two", "one", "notification.read"]


def test_leaving_ends_the_thread_that_ran_it(tmp_path):
    before = threading.active_count()
    with Coven.sync(tmp_path):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
