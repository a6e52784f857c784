"""``python -m tests``, behind ``make test`` and ``make watch``: run the public tests and explain what they found."""

import argparse

from .harness import rubric
from .harness.page import LEVELS, run
from .harness.terminal import LANGUAGES, end_with, language_of
from .harness.watch import watch


def main() -> int:
    """Run the tests, print the page, and return 0 unless a test failed; a TODO is no failure."""
    assignment = rubric.load()
    options, options.pytest = _parser(assignment).parse_known_args()
    chosen = [assignment.tasks[number - 1] for number in options.task or range(1, 1 + len(assignment.tasks))]
    return watch(chosen, options) if options.watch else run(chosen, options)


def _parser(assignment: rubric.Rubric) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__, allow_abbrev=False)
    numbers = range(1, 1 + len(assignment.tasks))
    parser.add_argument("--task", type=int, choices=numbers, action="append", help="only this task; repeatable")
    parser.add_argument(
        "--hint", type=int, choices=LEVELS, default=1, help="1: a question; 2: also where, and the known mistake's name"
    )
    parser.add_argument("--all", action="store_true", help="explain every failing property")
    parser.add_argument("--watch", action="store_true", help="rerun the affected tests whenever a file is saved")
    parser.add_argument("--verbose", action="store_true", help="list every test")
    parser.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    parser.epilog = "All other arguments go to pytest, such as -k WORD, -x or tests/test_norm.py."
    return parser


if __name__ == "__main__":
    end_with(main)
