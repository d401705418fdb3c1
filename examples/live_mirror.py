"""Keep a copy of the daemon's state that is always right, and do something when it changes.

The mirror loads one snapshot and goes on with the events from exactly there. A restarted daemon, a
broken connection or a laptop that slept make no difference: it catches up by itself. `changes`
gives the newest state, never a backlog, so a slow reader is late but never wrong.
"""

import asyncio

from coven import Coven


async def main() -> None:
    async with Coven() as coven, coven.mirror() as mirror:
        await coven.notifications.post("example", "Something happens")
        wanted = (await coven.state()).seq
        async for state in mirror.changes():
            print(f"at #{state.seq}: {len(state.tasks)} tasks, {len(state.agents)} agents")
            if state.seq >= wanted:
                break


if __name__ == "__main__":
    asyncio.run(main())
