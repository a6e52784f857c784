"""The command of this extra."""

from __future__ import annotations

from .command import diff

PANEL = "More"
COMMANDS = {
    "diff": diff,
}
