"""All commands, in the order in which ``grader --help`` lists them."""

from __future__ import annotations

import typer

from ..assignment import ASSIGNMENT
from ..definition import rubric_or_exit
from .appeal import appeal
from .decide import decide
from .diff import diff
from .export import export, return_feedback
from .grade import grade
from .maintain import doctor, gradescope, release, verify
from .practice import practice
from .report import report
from .reproduce import reproduce
from .review import review
from .show import show
from .similar import similar

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Grades submissions of the assignment."""
    rubric_or_exit(ASSIGNMENT)  # before any command begins


for _command in (
    *(grade, show, report, decide, review, reproduce, appeal, diff, export, return_feedback, similar, practice),
    *(doctor, verify, release, gradescope),
):
    app.command("return" if _command is return_feedback else None)(_command)  # no function can be called `return`
