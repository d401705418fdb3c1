"""A spell without root's power over file modes, so that a read-only directory is one for root too.

The suite may run as root, for whom the kernel checks no modes. The power is a capability, so this
thread puts it down for the length of a `with` and takes it up again.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_OVER_MODES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def unprivileged() -> Iterator[None]:
    """This thread obeys file modes, whoever runs it."""
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()
    assert _libc.capget(ctypes.byref(header), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~_OVER_MODES
    assert _libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = before
        assert _libc.capset(ctypes.byref(header), sets) == 0
