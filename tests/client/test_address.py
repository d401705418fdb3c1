"""Where the daemon is looked for."""

import json
from pathlib import Path

import pytest

from coven.client import BadAddress, BadToken, DaemonNotRunning
from coven.client.address import Whereabouts


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("COVEN_DIR", "COVEN_URL", "COVEN_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    state = tmp_path / "project" / ".coven"
    state.mkdir(parents=True)
    body = {"pid": 7, "url": "http://127.0.0.1:4711", "socket": str(state / "covend.sock")}
    (state / "covend.json").write_text(json.dumps(body))
    (state / "covend.sock").touch()
    (state / "token").write_text("owner\n")
    return tmp_path / "project"


def test_the_nearest_project_upwards_is_meant(project: Path, monkeypatch):
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    address = Whereabouts().find()
    assert address.socket == project / ".coven" / "covend.sock"
    assert address.place == str(project)
    assert address.token is None


def test_a_named_directory_is_meant_more_than_a_url_of_the_environment(project: Path, monkeypatch):
    monkeypatch.setenv("COVEN_URL", "http://elsewhere:1")
    assert Whereabouts(directory=project).find().place == str(project)
    assert Whereabouts().find().url == "http://elsewhere:1"


def test_the_environment_names_a_daemon_elsewhere(monkeypatch):
    monkeypatch.setenv("COVEN_URL", "https://coven.example/")
    monkeypatch.setenv("COVEN_TOKEN", "t0ken")
    address = Whereabouts().find()
    assert (address.url, address.token, address.socket) == ("https://coven.example", "t0ken", None)


def test_without_a_socket_the_loopback_and_the_token_file_are_used(project: Path):
    (project / ".coven" / "covend.sock").unlink()
    address = Whereabouts(directory=project).find()
    assert (address.url, address.token) == ("http://127.0.0.1:4711", "owner")


def test_a_socket_on_a_path_that_is_too_long_is_not_tried(tmp_path: Path):
    state = tmp_path / ("long" * 30) / ".coven"
    state.mkdir(parents=True)
    (state / "covend.sock").touch()
    body = {"url": "http://127.0.0.1:4711", "socket": str(state / "covend.sock")}
    (state / "covend.json").write_text(json.dumps(body))
    assert Whereabouts(directory=state.parent).find().socket is None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        '{"url": 7}',
        "\x00",
        "[" * 100_000,
        '{"url": "http://\\ud800"}',
        '{"url": "http://["}',
        '{"url": "http://127.0.0.1:99999"}',
        '{"url": "http://127.0.0.1:x"}',
        '{"url": "http://a\\u0001b"}',
        '{"url": "http://' + "a" * 70_000 + '"}',
        '{"socket": "\\ud800"}',
        '{"socket": "a\\u0000"}',
    ],
    ids=lambda body: ascii(body)[:32],
)
def test_an_announcement_that_cannot_be_read_is_no_daemon(project: Path, body: str):
    (project / ".coven" / "covend.json").write_text(body)
    with pytest.raises(DaemonNotRunning):
        Whereabouts(directory=project).find()


BAD_URLS = [
    "nonsense",
    "ftp://host",
    "http://[",
    "http://",
    "http://host:99999",
    "http://host:0",
    "http://host:x",
    "http://a..b",
    "http://a\x01b",
    "http://a\udcff",
    "http://" + "a" * 64,
    "http://" + "a" * 70_000,
]


@pytest.mark.parametrize("url", BAD_URLS, ids=lambda url: f"{ascii(url)[:24]} {len(url)}")
def test_a_bad_url_is_named_and_nobody_is_asked(url: str, monkeypatch):
    with pytest.raises(BadAddress, match="The given URL") as refused:
        Whereabouts(url=url).find()
    assert refused.value.message.replace("…", "").isascii()
    assert len(refused.value.message) < 120
    monkeypatch.setenv("COVEN_URL", url)
    with pytest.raises(BadAddress, match="COVEN_URL"):
        Whereabouts().find()


def test_a_bad_url_is_told_without_its_password():
    with pytest.raises(BadAddress) as refused:
        Whereabouts(url="http://u:hunter2@x@host:y").find()
    assert "hunter2" not in refused.value.message + repr(refused.value.details)


@pytest.mark.parametrize("token", ["é", "a\nb", "a b", "\udcff", "\x7f"], ids=ascii)
def test_a_token_that_fits_into_no_header_is_refused_and_not_shown(
    token: str, project: Path, monkeypatch
):
    for place in ({"url": "http://host"}, {"directory": project}):
        with pytest.raises(BadToken, match="The given token cannot be") as refused:
            Whereabouts(token=token, **place).find()
        assert token not in refused.value.message
    monkeypatch.setenv("COVEN_TOKEN", token)
    with pytest.raises(BadToken, match="COVEN_TOKEN"):
        Whereabouts(url="http://host").find()


def test_a_token_file_that_is_no_text_is_named(project: Path):
    (project / ".coven" / "covend.sock").unlink()
    (project / ".coven" / "token").write_bytes(b"\xff\xfe")
    with pytest.raises(BadToken, match=r"\.coven/token cannot be"):
        Whereabouts(directory=project).find()


def test_a_home_of_nobody_is_an_ordinary_name(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COVEN_DIR", "~nobody-here/p")
    assert Whereabouts().project() == tmp_path / "~nobody-here" / "p"
