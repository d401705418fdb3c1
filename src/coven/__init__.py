"""Coven: a durable runtime for AI coding agents.

This package is one daemon and its visitors. `daemon` is the roof; the rooms below it each hold
one thing that people come for; `doors`, `store` and `core` carry them. `client` and `cli` stand
outside and speak HTTP. Start reading at `docs/start-here.md`.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from coven.client import Coven

__all__ = ["Coven", "__version__"]


def __getattr__(name: str) -> Any:
    # The daemon must not pay for the client because somebody can write `from coven import Coven`.
    if name == "Coven":
        from coven.client import Coven

        return Coven
    raise AttributeError(f"module 'coven' has no attribute {name!r}")
