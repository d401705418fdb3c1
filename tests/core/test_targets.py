"""Targets: a file that somebody named is new, in a folder that is there."""

from pathlib import Path

import pytest

from coven.core.targets import FileExists, FolderMissing, require_new


def test_a_new_file_in_a_folder_is_fine_and_not_made(tmp_path: Path) -> None:
    require_new(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_whatever_is_there_already_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link", "."):
        with pytest.raises(FileExists):
            require_new(tmp_path / name)


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(FolderMissing, match="missing"):
        require_new(tmp_path / "missing" / "new")
    assert list(tmp_path.iterdir()) == []
