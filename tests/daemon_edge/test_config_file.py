"""Writing `.coven/config.json`: only what is missing, and never at the cost of what is there."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coven import config
from coven.daemon import config_file, files
from tests.daemon_edge.unprivileged import unprivileged

DEFAULTS = {
    "eventRetentionHours": 24,
    "taskRetentionDays": 30,
    "taskSoftDeleteDays": 7,
    "workflowRetentionDays": 7,
    "claimTimeoutMinutes": 30,
}


@pytest.fixture
def file(project: Path) -> Path:
    files.make_state_directory(project / ".coven")
    return project / ".coven" / "config.json"


def complete(file: Path) -> list[str]:
    return config_file.complete(config.load(file.parent.parent, environment={}))


def written(file: Path) -> tuple[int, int, int, int]:
    """What changes when a file is written or replaced; not when it is read."""
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns


def test_a_first_start_writes_the_defaults(file: Path) -> None:
    assert complete(file) == []
    assert json.loads(file.read_text()) == {"store": DEFAULTS}
    assert file.stat().st_mode & 0o777 == 0o644
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in file.parent.iterdir()] == ["config.json"]


def test_missing_keys_are_added_and_everything_else_stays_byte_for_byte(file: Path) -> None:
    mine = (
        '{\n\t"zeta": 1.50,\n\t"name": "caf\\u00e9",   "huge": 123456789012345678901234567890,\n'
        '\t"store": {\n\t\t"mine": [1e5, 2],\n\t\t"taskRetentionDays": 3\n\t}\n}\n'
    )
    file.write_text(mine)
    assert complete(file) == []
    text = file.read_text()
    assert json.loads(text)["store"] == {"mine": [1e5, 2], **DEFAULTS, "taskRetentionDays": 3}
    before, after = mine.split('"taskRetentionDays": 3')
    assert text.startswith(before + '"taskRetentionDays": 3,\n\t\t"eventRetentionHours": 24')
    assert text.endswith(after)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        " { } ",
        '{"a": {}}',
        '{"store": {}, "a": 1}',
        '{"store":{"claimTimeoutMinutes":5}}',
        '{\r\n  "a": "}",\r\n  "store": {\r\n  }\r\n}\r\n',
        '{"store": {"a": 1}, "store": {"b": "{"}}',
        '{"a": 1\n}',
    ],
)
def test_keys_are_added_in_whatever_way_the_file_is_laid_out(file: Path, text: str) -> None:
    file.write_bytes(text.encode())
    before = json.loads(text)
    assert complete(file) == []
    after = json.loads(file.read_bytes())
    assert after == {**before, "store": {**DEFAULTS, **before.get("store", {})}}


def test_a_complete_file_is_not_written_again(file: Path) -> None:
    complete(file)
    before = written(file)
    assert complete(file) == []
    assert written(file) == before


def test_a_bad_value_of_the_user_stays_in_the_file(file: Path) -> None:
    file.write_text('{"store": {"eventRetentionHours": "banana"}}')
    assert complete(file) == []
    store = json.loads(file.read_text())["store"]
    assert store == {**DEFAULTS, "eventRetentionHours": "banana"}


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xef\xbb\xbf{}", b'{"store": 5}'])
def test_a_file_that_cannot_be_used_is_not_touched(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    before = written(file)
    assert complete(file) == []
    assert written(file) == before
    assert file.read_bytes() == content


def test_a_link_is_not_replaced(file: Path) -> None:
    target = file.with_name("mine.json")
    target.write_text("{}")
    file.symlink_to(target)
    (problem,) = complete(file)
    assert "is a symbolic link, so it was not changed" in problem
    assert "eventRetentionHours" in problem
    assert file.is_symlink()
    assert target.read_text() == "{}"


def test_a_read_only_directory_is_told_and_the_file_stays(file: Path) -> None:
    file.write_text('{"port": 1001}')
    file.parent.chmod(0o500)
    with unprivileged():
        (problem,) = complete(file)
    file.parent.chmod(0o700)
    assert "cannot be written (Permission denied)" in problem
    assert file.read_text() == '{"port": 1001}'
    assert [entry.name for entry in file.parent.iterdir()] == ["config.json"]


def test_mode_and_owner_of_the_file_stay(file: Path) -> None:
    file.write_text("{}")
    file.chmod(0o640)
    complete(file)
    assert file.stat().st_mode & 0o777 == 0o640


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3)
    ),
    max_leaves=8,
)


@given(
    body=st.dictionaries(st.text(max_size=6), _VALUES, max_size=4),
    store=st.none() | st.dictionaries(st.text(max_size=6), _VALUES, max_size=3),
    indent=st.sampled_from([None, 0, 1, 2, "\t"]),
    is_ascii=st.booleans(),
)
def test_completing_adds_the_missing_keys_and_nothing_else(
    body: dict[str, object], store: dict[str, object] | None, indent: int | str, is_ascii: bool
) -> None:
    """Any JSON object, however it is written."""
    whole = {**body, "store": store} if store is not None else body
    text = json.dumps(whole, indent=indent, ensure_ascii=is_ascii)
    added = config_file.completed(text, {"one": 1, "two": 2})
    assert json.loads(added) == {**whole, "store": {**(store or {}), "one": 1, "two": 2}}


def test_a_state_directory_that_cannot_be_made_is_told(project: Path) -> None:
    (project / "file").write_text("")
    with pytest.raises(files.StateDirectoryUnusable, match="Not a directory"):
        files.make_state_directory(project / "file" / ".coven")
    with pytest.raises(files.StateDirectoryUnusable, match="File exists"):
        files.make_state_directory(project / "file")
    with pytest.raises(files.StateDirectoryUnusable, match="No such file"):
        files.make_state_directory(project / "none" / ".coven")
