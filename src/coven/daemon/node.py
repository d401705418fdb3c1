"""Which node this is: an id in `.coven/node`, made at the first start and kept.

Rows of things that live on a machine carry it, so that each daemon on a shared store recovers its
own things only. It moves with the directory: a project that is copied to another machine, with its
embedded store, is still itself there.
"""

import os
from pathlib import Path

from coven.core import ids
from coven.core.errors import CovenError, Kind
from coven.core.ids import NodeId
from coven.daemon import files


class NodeFileUnusable(CovenError):
    """The node file {path} cannot be used: {reason}."""

    code = "NODE_FILE_UNUSABLE"
    kind = Kind.UNAVAILABLE
    remedy = (
        "Put the id back that stood in it. If it is lost, remove the file: this daemon then is a "
        "new node, and leaves alone what the lost one had running."
    )


def ensure(path: Path) -> NodeId:
    """The id of this node; made now if there is none. It is never replaced silently."""
    try:
        found = _read(path)
        if found is not None:
            return found
        made = NodeId(ids.new())
        files.write(path, made.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise NodeFileUnusable(path=str(path), reason=files.reason_of(error)) from error
    return made


def _read(path: Path) -> NodeId | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        text = os.read(descriptor, 1024).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    try:
        return NodeId(ids.parse(text))
    except ids.MalformedId as error:
        raise NodeFileUnusable(path=str(path), reason="it does not hold one id") from error
