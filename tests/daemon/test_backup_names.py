"""Names of backups: they stay in their folder and never overwrite anything."""

import httpx
import pytest

from coven.daemon.daemon import Daemon


@pytest.fixture
def engine_name() -> str:
    """Only the embedded store is copied to a file."""
    return "sqlite"


@pytest.mark.parametrize("name", ["../coven.db", "/etc/passwd", "a/b", ".hidden", "", "x" * 101])
async def test_a_name_that_leads_elsewhere_is_refused(
    daemon: Daemon, http: httpx.AsyncClient, name: str
) -> None:
    answer = await http.post("/api/v1/store/backup", json={"name": name})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVALID_BODY")
    assert not (daemon.settings.state_directory / "backups").exists()


async def test_a_backup_never_overwrites_anything(daemon: Daemon, http: httpx.AsyncClient) -> None:
    first = await http.post("/api/v1/store/backup", json={"name": "mine.db"})
    again = await http.post("/api/v1/store/backup", json={"name": "mine.db"})
    assert (first.status_code, again.status_code) == (200, 409)
    assert again.json()["error"]["code"] == "BACKUP_EXISTS"
    link = daemon.settings.state_directory / "backups" / "link.db"
    link.symlink_to(daemon.settings.state_directory / "coven.db")
    assert (await http.post("/api/v1/store/backup", json={"name": "link.db"})).status_code == 409


async def test_backups_without_a_name_get_one_each(http: httpx.AsyncClient) -> None:
    made = [(await http.post("/api/v1/store/backup")).json()["path"] for _ in range(2)]
    assert len(set(made)) == 2
