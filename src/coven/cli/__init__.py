"""The command line: one file for each group of commands, a visitor that speaks through the client.

`main` is the console script. Imports are lazy on purpose: the client and Rich are loaded by the
command that needs them, so that `coven --help` answers at once. What must work without a daemon
(`up`, `doctor`, `migrate`, `config show`, `store …`) becomes the program `python -m coven.daemon`;
nothing of the daemon is imported here.
"""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import cast

from coven.cli.failures import report
from coven.core.exits import BROKEN_PIPE, INTERRUPTED, require_text
from coven.core.terminal import hang_up, open_streams


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    open_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    from coven.cli.app import command

    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a sign must not make a command fail.
        cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    try:
        require_text(arguments)
        outcome = command().main(
            args=list(arguments) or ["--help"], prog_name="coven", standalone_mode=False
        )
        sys.stdout.flush()
    except BrokenPipeError:
        hang_up()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place that tells a person about any failure
        return report(error, as_json="--json" in arguments)
    return outcome if isinstance(outcome, int) else 0
