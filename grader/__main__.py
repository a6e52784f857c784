"""``python -m grader``: the commands, for the assignment of this repository."""

from __future__ import annotations

from grader.core.cli.program import program
from grader.core.cli.terminal import choose

FEATURES = (
    "grader.extras.decisions",
    "grader.extras.feedback",
    "grader.extras.diff",
    "grader.extras.similarity",
    "grader.extras.reproduce",
    "grader.extras.practice",
    "grader.extras.viva",
    "grader.extras.gradescope",
    "grader.lab",
    "grader.extras.doctor",
)
app = program(FEATURES)


def main() -> None:
    """Run the command that the arguments name."""
    from grader.assignment import ASSIGNMENT

    choose(ASSIGNMENT)
    app(prog_name="grader")


if __name__ == "__main__":
    main()
