"""``grader doctor``: whether this machine can grade, and what it lacks."""

from __future__ import annotations

import typer
from rich.text import Text

from .terminal import OUT, say


def doctor() -> None:
    """Check this machine for grading and suggest remedies for what is missing. Exit code 1 if it is unfit."""
    from .machine import examine  # imports torch, which no other command needs in this process

    unfit = False
    for finding in examine():
        bad = Text("✗", style="red") if finding.needed else Text("–", style="yellow")
        mark = Text("✓", style="green") if finding.good else bad
        unfit |= finding.needed and not finding.good
        OUT.print(Text.assemble(mark, f" {finding.subject:11} {finding.text}"), soft_wrap=True)
        if not finding.good:
            say(f"              {finding.remedy}", "italic")
    if unfit:
        raise typer.Exit(1)
