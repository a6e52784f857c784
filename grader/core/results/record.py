"""The strictness of records that are read from files, and the record of a decision in the summary."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

# Immutable: no unknown field, no NaN, no number that comes as text.
STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


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
