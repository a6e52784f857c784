"""The command of this extra."""

from __future__ import annotations

from .command import practice

PANEL = "More"
COMMANDS = {
    "practice": practice,
}
