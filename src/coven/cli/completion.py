"""Completion: scripts for bash, zsh and fish, written from the tree of commands.

They hold all the words, so a Tab costs nothing and works without a daemon. After an update
`coven completion install` writes them anew.
"""

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from coven.cli.command import Here, command, group
from coven.cli.output import document, line
from coven.core.errors import CovenError, Kind

app = group("completion", help="Completion for your shell.")


class Shell(Enum):
    """A shell that we know."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class UnknownShell(CovenError):
    """Your shell is not one that completion is written for."""

    code = "UNKNOWN_SHELL"
    kind = Kind.INVALID
    remedy = "Name one: `coven completion install bash`, or zsh, or fish."


ShellArgument = Annotated[
    Shell | None, typer.Argument(help="Without it, the one of SHELL.", show_default=False)
]


@command(app, "show", example="coven completion show bash")
def show(here: Here, shell: ShellArgument = None) -> None:
    """Print the script."""
    wanted = shell or _shell_of_this_person()
    script = _script(wanted, here.tree)
    document({"shell": wanted.value, "script": script}) if here.json else print(script, end="")


@command(app, "install", example="coven completion install zsh")
def install(here: Here, shell: ShellArgument = None) -> None:
    """Write the script to where the shell looks for it."""
    wanted = shell or _shell_of_this_person()
    path, hint = _place(wanted)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(wanted, here.tree), encoding="utf-8")
    if here.json:
        document({"shell": wanted.value, "path": str(path)})
        return
    line(f"Written to {path}.")
    line(hint)


def _shell_of_this_person() -> Shell:
    name = Path(_environment("SHELL") or "").name
    try:
        return Shell(name)
    except ValueError as error:
        raise UnknownShell from error


def _place(shell: Shell) -> tuple[Path, str]:
    if shell is Shell.BASH:
        home = Path(_environment("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        path = home / "bash-completion" / "completions" / "coven"
        return path, "New shells have it, if the package bash-completion is installed."
    if shell is Shell.ZSH:
        path = Path.home() / ".zfunc" / "_coven"
        return path, "Your .zshrc needs, before compinit: fpath=(~/.zfunc $fpath)"
    home = Path(_environment("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "fish" / "completions" / "coven.fish", "New shells have it."


def _environment(name: str) -> str | None:
    return os.environ.get(name)  # noqa: TID251 - the person's shell and folders, not a setting of ours


def _script(shell: Shell, tree: Any) -> str:
    known = dict(_words(tree, "coven"))
    if shell is Shell.FISH:
        cases = "".join(
            f"        case '{path}'\n            printf '%s\\n' {' '.join(words)}\n"
            for path, words in known.items()
        )
        paths = " ".join(f"'{path}'" for path in known)
        return _FISH.replace("@CASES@", cases).replace("@PATHS@", paths)
    entries = "".join(f'    ["{path}"]="{" ".join(words)}"\n' for path, words in known.items())
    if shell is Shell.ZSH:
        entries = "".join(f'    "{path}" "{" ".join(words)}"\n' for path, words in known.items())
        return _ZSH.replace("@WORDS@", entries)
    return _BASH.replace("@WORDS@", entries)


def _words(node: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    """Every command with what may follow it: commands, then options."""
    options = [option for one in node.params for option in one.opts if option.startswith("--")]
    below: dict[str, Any] = getattr(node, "commands", {})
    yield path, [*below, *options, "--help"]
    for name, child in below.items():
        yield from _words(child, f"{path} {name}")


_BASH = """# bash completion for coven
declare -A _coven_words=(
@WORDS@)
_coven() {
    local place=coven word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ -n "${_coven_words["$place $word"]+known}" ]] && place+=" $word"
    done
    COMPREPLY=($(compgen -W "${_coven_words["$place"]}" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _coven coven
"""

_ZSH = """#compdef coven
_coven() {
    local -A known=(
@WORDS@    )
    local place=coven word
    for word in "${(@)words[2,CURRENT-1]}"; do
        (( ${+known[$place $word]} )) && place+=" $word"
    done
    compadd -- ${=known[$place]} || _files
}
if [[ $funcstack[1] == _coven ]]; then _coven "$@"; else compdef _coven coven; fi
"""

_FISH = """# fish completion for coven
function __coven_words
    set -l place coven
    for word in (commandline -opc)[2..]
        contains -- "$place $word" @PATHS@; and set place "$place $word"
    end
    switch "$place"
@CASES@    end
end
complete -c coven -a '(__coven_words)'
"""
