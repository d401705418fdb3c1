"""Completion in a real bash."""

import json
import subprocess
from pathlib import Path

import pytest

from coven.cli import run

ASK = """
source "$1"
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_coven
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("coven ev", {"events"}),
        ("coven token ''", {"create", "list", "revoke", "--help"}),
        ("coven --json token c", {"create"}),
        ("coven notification list --un", {"--unread"}),
    ],
)
def test_a_tab_in_bash_knows_every_command_and_option(words, expected, tmp_path: Path, capsys):
    assert run(["completion", "show", "bash"]) == 0
    script = tmp_path / "coven.bash"
    script.write_text(capsys.readouterr().out)
    asked = subprocess.run(
        ["bash", "-c", ASK.format(words=words), "-", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(asked.stdout.split()) == expected
    assert asked.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_written_where_the_shell_looks(shell, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert run(["completion", "install", shell, "--json"]) == 0
    written = Path(json.loads(capsys.readouterr().out)["path"])
    assert written.is_relative_to(tmp_path)
    assert "notification list" in written.read_text()


def test_an_unknown_shell_is_said_to_be_unknown(monkeypatch, capsys):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["completion", "show"]) == 2
    assert "completion install bash" in capsys.readouterr().err
