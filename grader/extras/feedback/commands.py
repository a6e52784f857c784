"""The command of this extra."""

from __future__ import annotations

from .command import return_feedback

PANEL = "Every day"
COMMANDS = {
    "return": return_feedback,
}
