"""Where the daemon is looked for."""

import json
from pathlib import Path

import pytest

from coven.client import DaemonNotRunning
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


@pytest.mark.parametrize("body", ["", "{", "[]", '{"url": 7}', "\x00"])
def test_an_announcement_that_cannot_be_read_is_no_daemon(project: Path, body: str):
    (project / ".coven" / "covend.json").write_text(body)
    with pytest.raises(DaemonNotRunning):
        Whereabouts(directory=project).find()
