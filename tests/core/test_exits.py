"""Exits: the same failure is the same message, the same shape and the same code everywhere."""

import json

import pytest

from coven.core import exits
from coven.core.errors import CovenError, Kind
from coven.core.failpoints import MalformedFailpoint
from coven.daemon.model import PortInUse
from coven.store.lock import DatabaseLocked

FAMILIES = {
    Kind.MALFORMED: 2,
    Kind.UNAUTHENTICATED: 13,
    Kind.FORBIDDEN: 13,
    Kind.MISSING: 10,
    Kind.CONFLICT: 11,
    Kind.GONE: 1,
    Kind.STALE: 13,
    Kind.TOO_LARGE: 2,
    Kind.INVALID: 2,
    Kind.LIMITED: 1,
    Kind.UNAVAILABLE: 1,
    Kind.BUG: 1,
}


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_error_has_an_exit_code(kind):
    class Some(CovenError):
        """Something."""

    error = Some()
    error.__dict__["kind"] = kind
    assert exits.code_of(error) == FAMILIES[kind]


def test_what_somebody_else_holds_is_told_apart_from_other_conflicts():
    assert exits.code_of(DatabaseLocked()) == exits.code_of(PortInUse(port=1)) == 12


def test_a_person_reads_the_message_and_the_remedy_without_control_characters(capsys):
    assert exits.report(MalformedFailpoint(text="x"), as_json=False) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"Error: COVEN_FAILPOINTS cannot be read at 'x'.\n{MalformedFailpoint.remedy}\n"
    )
    assert exits.report(FileNotFoundError(2, "No such file", "a\x1b[2Jb"), as_json=False) == 1
    assert capsys.readouterr().err == "Error: a\\x1b[2Jb: No such file\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MalformedFailpoint(text="x"), "MALFORMED_FAILPOINT"),
        (FileNotFoundError(2, "No such file", "a"), "OS_ERROR"),
        (RuntimeError("ours"), "INTERNAL_ERROR"),
    ],
)
def test_a_program_reads_one_shape_whatever_went_wrong(error, code, capsys):
    exits.report(error, as_json=True)
    told = capsys.readouterr()
    assert told.out == ""
    body = json.loads(told.err)["error"]
    assert set(body) == {"code", "message", "details", "remedy"}
    assert body["code"] == code


def test_a_defect_is_told_with_where_it_happened(capsys):
    assert exits.report(RuntimeError("ours"), as_json=False) == 1
    told = capsys.readouterr().err
    assert "RuntimeError: ours" in told
    assert "please report it" in told
