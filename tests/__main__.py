"""``python -m tests``, behind ``make test`` and ``make watch``: run the public tests and explain what they found."""

import os
import sys

import pytest

from .harness import rubric
from .harness.alone import run_alone
from .harness.page import LEVELS
from .harness.terminal import Refused, end_with, parser, say
from .harness.watch import watch


def main() -> int:
    """Run the tests, print the page, and return 0 unless a test failed; a TODO is no failure."""
    assignment = rubric.load()
    numbers, made = range(1, 1 + len(assignment.tasks)), parser("tests", __doc__)
    made.add_argument("--task", type=int, choices=numbers, action="append", help="only this task; repeatable")
    made.add_argument(
        "--hint", type=int, choices=LEVELS, default=1, help="1: a question; 2: also where, and the known mistake's name"
    )
    made.add_argument("--all", action="store_true", help="explain every failing property")
    made.add_argument("--watch", action="store_true", help="rerun the affected tests whenever a file is saved")
    made.add_argument("--verbose", action="store_true", help="list every test")
    made.epilog = "All other arguments go to pytest, such as -k WORD, -x or tests/test_norm.py."
    made.set_defaults(plugins=[])
    options, options.pytest = made.parse_known_args()
    if (device := os.environ.get("DEVICE", "")) not in ("", "cpu"):
        raise Refused(say(options.lang, "device_unknown", device=device))
    chosen = [assignment.tasks[number - 1] for number in options.task or numbers]
    status = watch(chosen, options) if options.watch else run_alone(chosen, options)
    if status == pytest.ExitCode.USAGE_ERROR:  # pytest has named the argument, and its own options
        made.print_usage(sys.stderr)
    return status


if __name__ == "__main__":
    end_with(main)
