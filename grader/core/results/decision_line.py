"""What people decided about a submission, as the summary tells it to programs."""

from __future__ import annotations

from pydantic import BaseModel

from .record import STRICT


class DecisionLine(BaseModel):
    """One decision that holds.

    Attributes:
        what: The id of a property, ``score``, ``bonus``, or a field of ``decisions.toml`` such as ``due``.
        text: What was decided, in plain English, with the reason.
        when: ISO 8601.
        stale: How its ground has changed, so that a person should look at it again; empty if it has not.
    """

    model_config = STRICT

    what: str
    text: str
    who: str
    when: str
    stale: str = ""


class Decided(BaseModel):
    """A submission with its decisions.

    Attributes:
        score: As decided; null where there is none.
        bonus: As decided; null where there is none.
    """

    model_config = STRICT

    score: float | None
    bonus: float | None
    decisions: list[DecisionLine]
