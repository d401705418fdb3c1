"""What is particular to notifications: posting, listing, marking as read."""

import asyncio
import json

import httpx
import pytest

from coven.core import ids, pages
from coven.notifications import Draft, NotificationNotFound, posts
from coven.notifications.model import (
    BODY_BYTES_MAX,
    KIND_CHARACTERS_MAX,
    NotificationRefused,
)
from coven.notifications.records import queries
from coven.store import Store, events

URL = "/api/v1/notifications"


def draft(number: int = 0, **more: str) -> dict[str, str]:
    return {"kind": "task.blocked", "title": f"Title {number}", **more}


async def told(store: Store) -> list[tuple[str, str, dict[str, object]]]:
    page = await store.read(events.page, None, limit=100)
    return [(one.type, one.entity_id, json.loads(one.data)) for one in page.items]


async def test_a_posted_notification_is_returned_whole_and_can_be_read_back(
    door: httpx.AsyncClient, store: Store
) -> None:
    reply = await door.post(URL, json=draft(body="Look — ☂", subject="task 7"))
    assert reply.status_code == 201
    posted = reply.json()
    assert posted == {
        "id": posted["id"],
        "kind": "task.blocked",
        "title": "Title 0",
        "body": "Look — ☂",
        "subject": "task 7",
        "created_at": posted["created_at"],
        "read_at": None,
    }
    assert len(posted["created_at"]) == len("2030-01-31T12:00:00.000000Z")
    assert (await door.get(f"{URL}/{posted['id']}")).json() == posted
    data = {"kind": "task.blocked", "title": "Title 0", "subject": "task 7"}
    assert await told(store) == [("user.notification", posted["id"], data)]


async def test_marking_as_read_twice_changes_and_tells_once(
    door: httpx.AsyncClient, store: Store
) -> None:
    posted = (await door.post(URL, json=draft())).json()
    first = await door.post(f"{URL}/{posted['id']}/read")
    again = await door.post(f"{URL}/{posted['id']}/read")
    assert first.status_code == again.status_code == 200
    assert first.json()["read_at"] is not None
    assert again.json() == first.json()
    assert [kind for kind, _, _ in await told(store)] == ["user.notification", "notification.read"]


async def test_two_readers_at_the_same_time_tell_one_event(
    door: httpx.AsyncClient, store: Store
) -> None:
    posted = (await door.post(URL, json=draft())).json()
    replies = await asyncio.gather(*(door.post(f"{URL}/{posted['id']}/read") for _ in range(8)))
    assert {reply.json()["read_at"] for reply in replies} == {replies[0].json()["read_at"]}
    assert len(await told(store)) == 2


@pytest.mark.parametrize("verb", ["get", "read"])
async def test_a_notification_that_is_not_there_is_named_in_the_refusal(
    door: httpx.AsyncClient, verb: str
) -> None:
    missing = ids.new()
    path = f"{URL}/{missing}"
    reply = await (door.get(path) if verb == "get" else door.post(f"{path}/read"))
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "NOTIFICATION_NOT_FOUND"
    assert reply.json()["error"]["details"] == {"notification_id": missing}


async def test_pages_run_newest_first_and_neither_skip_nor_repeat_while_rows_arrive(
    door: httpx.AsyncClient,
) -> None:
    posted = [(await door.post(URL, json=draft(n))).json()["id"] for n in range(7)]
    seen: list[str] = []
    page = (await door.get(URL, params={"limit": 3})).json()
    while True:
        seen += [item["id"] for item in page["items"]]
        if not page["has_more"]:
            break
        await door.post(URL, json=draft(99))
        again = {"limit": 3, "cursor": page["next_cursor"]}
        page = (await door.get(URL, params=again)).json()
    assert seen == posted[::-1]
    assert page["next_cursor"] is None


async def test_filters_by_kind_and_by_reading_can_be_combined(door: httpx.AsyncClient) -> None:
    made: dict[str, str] = {}
    for name, kind in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")):
        made[(await door.post(URL, json={"kind": kind, "title": name})).json()["id"]] = name
    for identifier, name in made.items():
        if name in "ab":
            await door.post(f"{URL}/{identifier}/read")

    async def listed(**filters: str) -> str:
        page = (await door.get(URL, params=filters)).json()
        return "".join(item["title"] for item in page["items"])

    assert await listed() == "dcba"
    assert await listed(kind="x") == "ca"
    assert await listed(unread="true") == "dc"
    assert await listed(unread="false") == "ba"
    assert await listed(kind="y", unread="true") == "d"
    assert await listed(kind="y", unread="false") == "b"


async def test_a_cursor_of_other_filters_or_another_list_is_refused(
    door: httpx.AsyncClient,
) -> None:
    for number in range(3):
        await door.post(URL, json=draft(number))
    cursor = (await door.get(URL, params={"limit": 1})).json()["next_cursor"]
    for bad in (
        {"cursor": cursor, "kind": "task.blocked"},
        {"cursor": cursor, "unread": "true"},
        {"cursor": cursor[:-2]},
        {"cursor": "WzEsIm90aGVyIiwwLCJ4Il0"},
        {"cursor": "☃"},
    ):
        reply = await door.get(URL, params=bad)
        assert reply.status_code == 400
        assert reply.json()["error"]["code"] == "MALFORMED_CURSOR"


async def test_a_page_of_heavy_rows_ends_before_it_is_too_heavy(door: httpx.AsyncClient) -> None:
    # A tab takes two bytes in JSON, so these bodies weigh twice what they count.
    for number in range(12):
        await door.post(URL, json=draft(number, body="\t" * BODY_BYTES_MAX))
    reply = await door.get(URL, params={"limit": 500})
    page = reply.json()
    assert len(reply.content) <= pages.PAGE_BYTES_MAX + 1024
    assert page["has_more"]
    rest = (await door.get(URL, params={"cursor": page["next_cursor"], "limit": 500})).json()
    assert len(page["items"]) + len(rest["items"]) == 12


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "Not A Slug"),
        ("kind", ""),
        ("kind", "a" * (KIND_CHARACTERS_MAX + 1)),
        ("kind", "slug\n"),
        ("title", ""),
        ("title", "   "),
        ("title", "x" * 201),
        ("title", 7),
        ("title", None),
        ("body", "x" * (BODY_BYTES_MAX + 1)),
        ("body", "☃" * (BODY_BYTES_MAX // 2)),
        ("body", {"a": 1}),
        ("subject", "x" * 201),
        ("read_at", "2030-01-31T12:00:00.000000Z"),
        ("id", "0191e2a4-7c3e-7b52-9d1a-3f0c5a6b7d8e"),
    ],
)
async def test_a_field_that_means_nothing_is_named_and_nothing_is_posted(
    door: httpx.AsyncClient, field: str, value: object
) -> None:
    reply = await door.post(URL, json={"kind": "x", "title": "t", field: value})
    assert reply.status_code == 422
    assert field in json.dumps(reply.json()["error"]["details"])
    assert (await door.get(URL)).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "length"), [("x" * BODY_BYTES_MAX, BODY_BYTES_MAX), ("☃" * 5461, 5461)]
)
async def test_the_longest_body_is_kept_to_the_last_byte(
    door: httpx.AsyncClient, body: str, length: int
) -> None:
    posted = (await door.post(URL, json=draft(body=body))).json()
    found = (await door.get(f"{URL}/{posted['id']}")).json()
    assert found["body"] == body
    assert len(found["body"]) == length


async def test_the_same_key_sent_at_the_same_time_makes_one_notification(
    door: httpx.AsyncClient, store: Store
) -> None:
    headers = {"Idempotency-Key": "once-only"}
    replies = await asyncio.gather(
        *(door.post(URL, json=draft(), headers=headers) for _ in range(10))
    )
    assert {reply.status_code for reply in replies} == {201}
    assert len({reply.json()["id"] for reply in replies}) == 1
    assert len((await door.get(URL)).json()["items"]) == 1
    assert len(await told(store)) == 1


async def test_a_room_above_tells_in_its_own_transaction(store: Store) -> None:
    with pytest.raises(NotificationRefused):
        await store.write(posts.post, Draft(kind="x", title="t", body="x" * (BODY_BYTES_MAX + 1)))
    posted = await store.write(posts.post, Draft(kind="x", title="t"))
    assert await store.read(posts.get, posted.notification_id) == posted


async def test_projects_do_not_see_each_other(store: Store) -> None:
    posted = await store.write(posts.post, Draft(kind="x", title="t"))
    other = store.of(ids.project("elsewhere"))
    with pytest.raises(NotificationNotFound):
        await other.read(posts.get, posted.notification_id)
    with pytest.raises(NotificationNotFound):
        await other.write(posts.mark_read, posted.notification_id)


def test_every_combination_of_filters_has_its_statement() -> None:
    for reading in ("page", "page_unread", "page_read"):
        assert queries[reading]
        assert queries[f"{reading}_of_kind"]
