"""Callers: what a route is given to know who is asking, and how it asks for one.

    async def post(body: NotificationDraft, caller: Working) -> NotificationView: ...

`Reading`, `Working` and `Administering` name the scope that the route needs. A request without a
token, or with too narrow a one, never reaches the function. `ReadingDaemon` and
`AdministeringDaemon` are for what reaches beyond one project: a token of one is refused there.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from coven.doors.access import Principal
from coven.doors.model import Scope
from coven.store import Store
from coven.store.idempotency import IdempotencyKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is asking, the store of the project they ask about, and the key of their request."""

    principal: Principal
    store: Store
    key: IdempotencyKey | None = None


class Needs:
    """The mark by which a route says whom it is for."""

    def __init__(self, scope: Scope, *, whole_daemon: bool = False) -> None:
        """`whole_daemon` is for what concerns every project: no token of a guest project may."""
        self.scope = scope
        self.whole_daemon = whole_daemon

    async def __call__(self, request: Request) -> Caller:
        # FastAPI reads this signature for the OpenAPI document; `doors.endpoint` makes the caller.
        raise NotImplementedError("routes are run by coven.doors.endpoint")


Reading = Annotated[Caller, Depends(Needs(Scope.READ))]
"""A caller who may look."""

Working = Annotated[Caller, Depends(Needs(Scope.WORK))]
"""A caller who may change things."""

Administering = Annotated[Caller, Depends(Needs(Scope.ADMIN))]
"""A caller who may do what concerns other callers of the project."""

ReadingDaemon = Annotated[Caller, Depends(Needs(Scope.READ, whole_daemon=True))]
"""A caller who may look at the daemon as a whole, at every project in it."""

AdministeringDaemon = Annotated[Caller, Depends(Needs(Scope.ADMIN, whole_daemon=True))]
"""A caller who may do what concerns the daemon as a whole, and so every project in it."""
