"""Which rooms there are, from the floor up. The order is the order of recovery."""

ROOMS = (
    "coven.store",
    "coven.doors",
    "coven.notifications",
    "coven.questions",
    "coven.workspaces",
    "coven.agents",
    "coven.runs",
    "coven.tasks",
)
"""The packages whose `migrations` folders make the schema."""
