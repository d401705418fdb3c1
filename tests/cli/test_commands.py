"""What commands answer: to a person, to a script, and when they are refused."""

import asyncio
import json
import shlex
from fnmatch import fnmatch

import pytest
import typer

from coven.cli import run
from coven.cli.app import command
from coven.cli.command import Here, LocalCommand
from coven.cli.events import BEGINNING, moment
from coven.client.errors import refusal
from coven.core import ids
from coven.core.exits import code_of
from coven.store.transaction import event_types
from tests.cli.program import coven, running

pytestmark = pytest.mark.slow


def _every_command(node=None, path=()):
    node = node or command()
    below = getattr(node, "commands", {})
    if not below:
        return [(path, node)]
    return [one for name, child in below.items() for one in _every_command(child, (*path, name))]


COMMANDS = _every_command()


@pytest.mark.parametrize(("path", "node"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_every_command_explains_itself_with_an_example_and_takes_json(path, node):
    told = node.get_help(typer.Context(node, info_name=path[-1]))
    assert node.help
    assert "Example:\n  coven " + " ".join(path) in told.replace("    coven", "  coven")
    assert {"--json", "--dir", "--url", "--token"} <= {
        option for one in node.params for option in one.opts
    }


@pytest.mark.parametrize(("path", "node"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_every_example_can_be_typed(path, node):
    words = shlex.split(node.epilog.partition("Example:\n")[2])
    assert words[: len(path) + 1] == ["coven", *path]
    context = node.make_context(path[-1], words[len(path) + 1 :])
    kind = context.params.get("kind")
    if path == ("events",):
        assert any(fnmatch(known, kind) for known in event_types())


LOCAL = [
    ["config", "show"],
    ["doctor"],
    ["logs"],
    ["migrate"],
    ["store", "dump"],
    ["up"],
]


@pytest.mark.parametrize("arguments", LOCAL, ids=" ".join)
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--url", "http://elsewhere:1"], "--url"),
        (["--token", "t0ken", "--dir", "."], "--token"),
        (["--url", "http://elsewhere:1", "--token", "t0ken"], "--url and --token"),
        ([], "COVEN_URL"),
    ],
)
def test_a_local_command_never_answers_about_another_place_than_was_named(
    arguments, given, named, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COVEN_URL", "http://elsewhere:1")
    assert run([*arguments, *given, "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["code"], error["details"]["given"]) == ("LOCAL_COMMAND", named)
    assert f"`coven {' '.join(arguments)}`" in error["message"]
    assert "t0ken" not in str(error)
    assert run([*given, "--json", *arguments]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_named_directory_is_meant_also_where_the_environment_names_a_daemon(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("COVEN_URL", "http://elsewhere:1")
    Here(directory=tmp_path).require_local("coven logs")
    with pytest.raises(LocalCommand):
        Here().require_local("coven logs")


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), ([], 0), (["events", "--what"], 2), (["nothing"], 2)]
)
def test_help_and_usage_errors_need_no_daemon(arguments, code, capsys):
    assert run(arguments) == code
    told = capsys.readouterr()
    assert (told.err == "") == (code == 0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["status", "--url", "http://["], "BAD_ADDRESS"),
        (["status", "--url", "nonsense"], "BAD_ADDRESS"),
        (["status", "--url", "http://127.0.0.1:1", "--token", "é"], "BAD_TOKEN"),
        (["status", "--url", "http://127.0.0.1:1", "--token", "a\nb"], "BAD_TOKEN"),
        (["notification", "post", "build", "\udcff"], "USAGE"),
        (["status", "--dir", "n\udcff"], "USAGE"),
    ],
)
def test_a_bad_value_on_the_command_line_is_named(arguments, code, capsys):
    assert run([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == code


def test_a_usage_error_has_the_same_shape_as_every_other(capsys):
    assert run(["events", "--what", "--json"]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["code"], error["remedy"]) == (
        "USAGE",
        "`coven events --help` shows what it takes.",
    )


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "MALFORMED_ID", 2),
        (401, "UNKNOWN_TOKEN", 13),
        (403, "NOT_THE_OWNER", 13),
        (404, "TASK_NOT_FOUND", 10),
        (409, "BAD_TRANSITION", 11),
        (409, "WORKSPACE_IN_USE", 12),
        (409, "ALREADY_CLAIMED", 12),
        (409, "DATABASE_LOCKED", 12),
        (409, "TASK_CYCLE", 14),
        (410, "EVENTS_GONE", 1),
        (412, "STALE_GENERATION", 13),
        (422, "INVALID_BODY", 2),
        (429, "TOO_MANY", 1),
        (500, "INTERNAL_ERROR", 1),
        (503, "STORE_BUSY", 1),
    ],
)
def test_the_exit_code_says_what_a_script_can_do_about_it(status, code, exit_code):
    assert code_of(refusal(status, {"code": code, "message": "No."})) == exit_code


def test_a_place_may_be_said_as_how_long_ago():
    assert moment(None) is None
    assert moment("start") == BEGINNING
    assert moment("MXxhYmM") == "MXxhYmM"
    assert moment("2030-01-31T12:00:00Z") == "2030-01-31T12:00:00Z"
    ago = moment("10m")
    assert ago is not None
    assert ago.endswith("Z")


async def test_a_notification_goes_its_whole_way(daemon):
    project = daemon.settings.directory
    post = ("notification", "post", "build", "It is \x1b[31mred", "--subject", "ci")
    first = await coven(*post, "--idempotency-key", "k1", within=project)
    again = await coven(*post, "--idempotency-key", "k1", within=project)
    assert first.code == again.code == 0, first.err
    assert first.out == again.out
    posted = first.out.strip()
    listed = await coven("notification", "list", "--unread", "--json", within=project)
    assert [item["id"] for item in listed.document["items"]] == [posted]
    shown = await coven("notification", "show", posted, within=project)
    assert shown.out.startswith("It is \\x1b[31mred  (build)\nabout ci\n")
    read = await coven("notification", "read", posted, "--json", within=project)
    assert read.document["read_at"] is not None
    listed = await coven("notification", "list", "--unread", within=project)
    assert listed.out == "id\tat\tkind\ttitle\tread\n"


async def test_a_refusal_is_told_as_message_and_remedy_and_by_the_exit_code(daemon):
    project = daemon.settings.directory
    missing = await coven("notification", "show", ids.new(), within=project)
    assert missing.code == 10
    assert missing.out == ""
    assert missing.err.startswith("Error: ")
    assert len(missing.err.splitlines()) == 2
    malformed = await coven("--json", "notification", "show", "nope", within=project)
    assert (malformed.code, malformed.error["code"]) == (2, "MALFORMED_ID")
    assert malformed.error["remedy"]
    posted = (await coven("notification", "post", "test", "one", within=project)).out.strip()
    other_route = await coven("--json", "notification", "show", f"{posted}/read", within=project)
    assert (other_route.code, other_route.error["code"]) == (2, "MALFORMED_NAME")


async def test_events_are_shown_page_after_page_and_from_a_place(daemon, client):
    project = daemon.settings.directory
    for number in range(120):
        await client.notifications.post("test", f"number {number}")
    shown = await coven("events", "--json", "--type", "user.*", within=project)
    told = [json.loads(line) for line in shown.out.splitlines()]
    assert [event["data"]["title"] for event in told] == [f"number {n}" for n in range(120)]
    rest = await coven("events", "--json", "--since", told[99]["id"], within=project)
    assert [json.loads(line) for line in rest.out.splitlines()] == told[100:]


async def test_a_followed_event_is_told_at_once_and_ctrl_c_is_quiet(daemon, client):
    project = daemon.settings.directory
    async with running(
        "events", "--follow", "--json", "--since", "start", within=project
    ) as followed:
        assert json.loads(await followed.line())["type"] == "daemon.recovered"
        posted = await client.notifications.post("test", "now")
        assert json.loads(await followed.line())["entity_id"] == posted.id
        assert await followed.interrupt() == 130
        assert followed.process.stderr is not None
        assert await followed.process.stderr.read() == b""


async def test_a_reader_that_goes_away_is_no_failure(daemon, client):
    follow = ("events", "--follow", "--since", "start")
    async with running(*follow, within=daemon.settings.directory) as events:
        await events.line()
        events.process.stdout._transport.close()  # what `| head -1` does to its writer
        await client.notifications.post("test", "for nobody")
        assert await asyncio.wait_for(events.process.wait(), 10) == 141
        assert await events.process.stderr.read() == b""


async def test_a_token_works_from_elsewhere_until_it_is_revoked(daemon, tmp_path):
    project = daemon.settings.directory
    made = await coven("token", "create", "laptop", "--scope", "read", "--json", within=project)
    token = made.document["token"]
    there = ("--url", daemon.url, "--token", token)
    assert (await coven("events", *there, within=tmp_path)).code == 0
    denied = await coven("notification", "post", "a", "b", *there, within=tmp_path)
    assert denied.code == 13
    listed = await coven("token", "list", within=project)
    assert token not in listed.out
    assert (await coven("token", "revoke", made.document["id"], within=project)).code == 0
    assert (await coven("events", *there, within=tmp_path)).code == 13


async def test_upkeep_is_shown_and_done(daemon):
    project = daemon.settings.directory
    loops = (await coven("loop", "list", "--json", within=project)).document["items"]
    assert "expired_records" in {loop["name"] for loop in loops}
    ran = await coven("loop", "run", "expired_records", "--json", within=project)
    assert ran.document["name"] == "expired_records"
    planned = await coven("retention", "plan", "--json", within=project)
    assert "events" in {rule["name"] for rule in planned.document["rules"]}
    assert (await coven("retention", "run", within=project)).code == 0
    assert (await coven("store", "check", within=project)).code == 0


async def test_a_store_that_is_copied_elsewhere_says_with_what(daemon, engine_name):
    if engine_name == "sqlite":
        return
    project = daemon.settings.directory
    for arguments in (("backup",), ("backup", "copy.db")):
        told = await coven("store", *arguments, within=project)
        assert (told.code, told.out) == (11, "")
        assert told.err.startswith("Error: A store on PostgreSQL is not backed up by Coven.")
        assert "pg_dump" in told.err
    assert not (project / "copy.db").exists()
    in_json = await coven("store", "backup", "--json", within=project)
    assert (in_json.code, in_json.error["code"]) == (11, "BACKUP_ELSEWHERE")
