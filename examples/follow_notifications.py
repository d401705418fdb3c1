"""Post a notification and see it arrive: the shortest way through the whole house.

Start a daemon first (`coven up`), then run this in the same directory.
"""

import asyncio

from coven import Coven
from coven.client import Event


async def main() -> None:
    async with (
        Coven() as coven,
        # From here on: the stream is open before anything is posted, so nothing can be missed.
        coven.events.follow(type="user.notification") as stream,
    ):
        posted = await coven.notifications.post("example", "Hello", body="from a script")
        async for happened in stream:
            if isinstance(happened, Event) and happened.entity_id == posted.id:
                print(f"#{happened.seq} {happened.type}: {happened.data['title']}")
                break
        await coven.notifications.read(posted.id)


if __name__ == "__main__":
    asyncio.run(main())
