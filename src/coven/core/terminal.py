"""The terminal: how every program of ours prints, whoever its author is.

Text that comes from elsewhere is printed with its control characters made visible, so that nobody's
notification and nobody's file name can repaint a screen. A program prints one JSON document, or
plain lines. Colours and tables are the command line's own (`coven.cli.output`).
"""

import json
import os
import re
import sys
from typing import Any

_STREAMS = ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def open_streams() -> None:
    """Open what our caller closed of 0, 1 and 2 on the null device; the first act of a program.

    Otherwise the next file or socket that is opened gets one of these numbers, and is written to by
    whoever prints, or closed by whoever thinks that it is the terminal.
    """
    for number, name, mode in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            os.set_inheritable(number, True)  # for the program that this one may become
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, errors="replace", closefd=False))  # noqa: SIM115 - for as long as the program


def printable(text: str) -> str:
    """Text with its control characters made visible; line ends and tabs stay."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def is_text(text: str) -> bool:
    """Whether this can be written as UTF-8; arguments and JSON may hold halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def line(text: str) -> None:
    """A line for a person."""
    print(printable(text))


def document(value: Any) -> None:
    """One JSON document."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def hang_up() -> None:
    """Whoever read us has seen enough: what is still buffered must not complain at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
