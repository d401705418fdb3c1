"""Do something exactly once, although the program that does it may be run again.

The client makes retries safe by itself: each change carries a key, and a reply that was lost is
asked for again with the same one. When the whole program may be repeated, by a job queue or by a
person, give a key of your own that is the same in each run. This one needs no `await` either.
"""

from coven import Coven


def main() -> None:
    with Coven.sync() as coven:
        first = coven.notifications.post(
            "deploy", "Version 7 is out", idempotency_key="deploy-version-7"
        )
        again = coven.notifications.post(
            "deploy", "Version 7 is out", idempotency_key="deploy-version-7"
        )
        print(f"told once: {first.id == again.id}")


if __name__ == "__main__":
    main()
