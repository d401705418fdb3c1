"""Questions: what somebody asks a person, kept until it is answered and delivered.

Today the room keeps its table and says what `/state` shows of it; asking and answering come with
the rooms above. It is not a notification, which wants no answer, and it knows whoever asked only by
an id: agents, runs and tasks are floors above.
"""

from coven.questions.model import Question

__all__ = ["Question"]
