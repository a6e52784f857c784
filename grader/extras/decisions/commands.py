"""The commands of this extra: ``decide``, ``review`` and ``appeal``."""

from __future__ import annotations

from .appeal import appeal
from .decide import decide
from .review.command import review

PANEL = "Decisions and appeals"
COMMANDS = {"decide": decide, "review": review, "appeal": appeal}
