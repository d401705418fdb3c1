"""Doors: how work comes in, over the Unix socket and over loopback HTTP.

What rooms use: `router` to declare their routes, `Reading`, `Working` and `Administering` to say
who may call them (`ReadingDaemon`, `AdministeringDaemon` where it is about every project), the
shapes `Input`, `Output` and `Listing`, and `EventStream` to go on talking.
The doors know who is calling and refuse who may not; they know no room and decide nothing that a
room should decide. Above stand the rooms; below, the store.
"""

from coven.doors.access import Access, Principal
from coven.doors.callers import (
    Administering,
    AdministeringDaemon,
    Caller,
    Reading,
    ReadingDaemon,
    Working,
)
from coven.doors.http import Doors, build, router
from coven.doors.model import Scope
from coven.doors.openapi import raises
from coven.doors.shapes import (
    CursorText,
    Flag,
    IdText,
    Input,
    InstantText,
    Limit,
    Listing,
    Output,
    Whole,
)
from coven.doors.sse import EventStream, frame

__all__ = [
    "Access",
    "Administering",
    "AdministeringDaemon",
    "Caller",
    "CursorText",
    "Doors",
    "EventStream",
    "Flag",
    "IdText",
    "Input",
    "InstantText",
    "Limit",
    "Listing",
    "Output",
    "Principal",
    "Reading",
    "ReadingDaemon",
    "Scope",
    "Whole",
    "Working",
    "build",
    "frame",
    "raises",
    "router",
]
