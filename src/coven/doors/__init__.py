"""Doors: how work comes in, over the Unix socket and over loopback HTTP.

What rooms use: `router` to declare their routes, `Reading`, `Working` and `Administering` to say
who may call them, the shapes `Input`, `Output` and `Listing`, and `EventStream` to go on talking.
The doors know who is calling and refuse who may not; they know no room and decide nothing that a
room should decide. Above stand the rooms; below, the store.
"""

from coven.doors.access import Access, Principal
from coven.doors.callers import Administering, Caller, Reading, Working
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
    "Scope",
    "Whole",
    "Working",
    "build",
    "frame",
    "raises",
    "router",
]
