"""What no schema can say, told to schemathesis: read by it, not by pytest.

A cursor is text that only we can write, and an Idempotency-Key may be used with one request only.
Where schemathesis means to send a valid request, it leaves the cursor out and takes a fresh key.
"""

import secrets
from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """The last look at a request before it is sent."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    for place in ("cursor", "since"):
        if case.query and place in case.query:
            del case.query[place]
    headers = case.headers
    if headers and "Last-Event-ID" in headers:
        del headers["Last-Event-ID"]
    if headers and "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = secrets.token_hex(16)
