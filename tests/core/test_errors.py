"""Errors: a class is its catalogue entry, and its docstring is the message."""

import pytest

from coven.core import errors
from coven.core.errors import CovenError, Kind
from coven.core.ids import MalformedId


def test_a_message_is_the_docstring_with_its_details_filled_in():
    error = MalformedId(text="x\n")
    assert str(error) == error.message == r"'x\n' is not an id."
    assert error.details == {"text": "x\n"}
    assert MalformedId(text="x", detail="Look again.").message == "'x' is not an id. Look again."


def test_a_detail_that_was_not_given_stays_visible_instead_of_failing():
    assert MalformedId().message == "'{text}' is not an id."


def test_a_code_stands_for_one_error_only():
    with pytest.raises(TypeError, match="share the code"):

        class Second(CovenError):
            """Again."""

            code = MalformedId.code

    with pytest.raises(TypeError, match="docstring"):

        class Mute(CovenError):
            code = "TEST_MUTE"


def test_a_family_of_errors_is_no_entry_of_its_own():
    class Family(CovenError):
        """Some kind."""

        kind = Kind.CONFLICT

    assert Family not in errors.catalogue().values()
    assert errors.catalogue()["MALFORMED_ID"] is MalformedId
    assert list(errors.catalogue()) == sorted(errors.catalogue())
