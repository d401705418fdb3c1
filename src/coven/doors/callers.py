"""Callers: what a route is given to know who is asking, and how it asks for one.

    async def post(body: NotificationDraft, caller: Working) -> NotificationView: ...

`Reading`, `Working` and `Administering` name the scope that the route needs. A request without a
token, or with too narrow a one, never reaches the function.
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
    """The mark by which a route says what scope it needs."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        # FastAPI reads this signature for the OpenAPI document; `doors.endpoint` makes the caller.
        raise NotImplementedError("routes are run by coven.doors.endpoint")


Reading = Annotated[Caller, Depends(Needs(Scope.READ))]
"""A caller who may look."""

Working = Annotated[Caller, Depends(Needs(Scope.WORK))]
"""A caller who may change things."""

Administering = Annotated[Caller, Depends(Needs(Scope.ADMIN))]
"""A caller who may do what concerns the daemon and other callers."""
