"""Failpoints: nothing unless armed, and then exactly what was armed, at the hit that was named."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from coven.core import failpoints
from coven.core.failpoints import FailpointError, MalformedFailpoint, Point, UnknownFailpoint
from coven.store.sqlite import BEFORE_COMMIT

POINT = Point("test.point")  # not declared: the catalogue belongs to the code


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


def test_a_point_that_is_not_armed_does_nothing():
    failpoints.arm("test.other=error")
    failpoints.hit(POINT)


def test_an_error_comes_at_the_hit_that_was_named_and_only_once():
    failpoints.arm(" test.point=error@3 , ")
    failpoints.hit(POINT)
    failpoints.hit(POINT)
    with pytest.raises(FailpointError):
        failpoints.hit(POINT)
    failpoints.hit(POINT)


@pytest.mark.parametrize(
    "text",
    ["test.point=explode", "test.point", "test.point=error@x", "test.point=error@0", "=kill", "?"],
)
def test_what_cannot_be_read_is_refused_and_changes_nothing(text):
    failpoints.arm("test.point=error")
    with pytest.raises(MalformedFailpoint) as refused:
        failpoints.arm(f"test.other=kill,{text}")
    assert repr(text) in refused.value.message
    with pytest.raises(FailpointError):
        failpoints.hit(POINT)


def test_an_armed_name_that_nobody_declares_is_told_when_all_names_are_known():
    failpoints.arm(f"{BEFORE_COMMIT}=stop@9")
    failpoints.check_armed()
    failpoints.arm(f"{BEFORE_COMMIT}=stop@9,store.comit.before=kill")
    with pytest.raises(UnknownFailpoint, match=r"'store\.comit\.before'"):
        failpoints.check_armed()


def test_a_point_is_declared_once_and_has_a_meaning():
    assert failpoints.declared()[BEFORE_COMMIT]
    with pytest.raises(ValueError, match="declared twice"):
        failpoints.declare(BEFORE_COMMIT, "again")


PROGRAM = """
from coven.core import failpoints
failpoints.arm("p=kill@2")
point = failpoints.declare("p", "x")
try:
    failpoints.hit(point)
    print("once", flush=True)
    failpoints.hit(point)
finally:
    print("never", flush=True)
"""


def test_a_kill_gives_no_time_for_a_goodbye():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == b"once" + os.linesep.encode()
