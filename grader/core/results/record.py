"""What all records that are read from files have in common."""

from __future__ import annotations

from typing import Final

from pydantic import ConfigDict

# Immutable: no unknown field, no NaN, no number that comes as text.
STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
