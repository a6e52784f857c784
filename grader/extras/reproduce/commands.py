"""The command of this extra."""

from __future__ import annotations

from .command import reproduce

PANEL = "More"
COMMANDS = {
    "reproduce": reproduce,
}
