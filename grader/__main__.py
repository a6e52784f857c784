"""``python -m grader``: the commands, for the assignment of this repository."""

from __future__ import annotations

import io
import os
import sys

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
    """Run the command that the arguments name, with three open streams, whatever their encoding."""
    from grader.assignment import ASSIGNMENT

    # The number of a closed one, as by `>&-`, would be taken by a pipe to a judge, which loses it to its own streams.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    choose(ASSIGNMENT)
    app(prog_name="grader")


if __name__ == "__main__":
    main()
