"""The command of this extra."""

from __future__ import annotations

from .command import similar

PANEL = "More"
COMMANDS = {
    "similar": similar,
}
