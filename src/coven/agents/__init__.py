"""Agents: coding agents that run as supervised processes for a task, started or adopted.

Today the room keeps its table and says what `/state` shows of it; starting, watching, recovering
and ending agents come with `processes`. It is not an agent definition and not a run (`runs`), and
it knows a task only by its id: tasks are a floor above.
"""

from coven.agents.model import Agent

__all__ = ["Agent"]
