"""Tasks: units of work in a tree, and the execution of a workflow for each.

Today the room keeps its tables (tasks with their tags, children and history, workflows, and which
questions belong to which task) and says what `/state` shows of them. Claims, transitions, the
engine of workflows and merges are not here yet. It is not the processes that do the work (`agents`)
and not what they ask (`questions`): both are floors below, and what hangs on a task is deleted by
this room calling them.
"""

from coven.tasks.model import Task, Workflow

__all__ = ["Task", "Workflow"]
