"""``grader doctor``: what this machine offers."""

from __future__ import annotations

from rich.text import Text

from .terminal import OUT, say


def doctor() -> None:
    """Say what this machine offers for grading, and what to do about what it lacks."""
    from ..tools.doctor import examine  # imports torch, which no other command needs in this process

    for finding in examine():
        mark = Text("✓", style="green") if finding.good else Text("✗", style="red")
        OUT.print(Text.assemble(mark, f" {finding.subject:11} {finding.text}"), soft_wrap=True)
        if not finding.good:
            say(f"              {finding.remedy}", "italic")
