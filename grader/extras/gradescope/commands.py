"""The command of this extra."""

from __future__ import annotations

from .command import gradescope

PANEL = "Before the term"
COMMANDS = {
    "gradescope": gradescope,
}
