"""``python -m tests``, behind ``make test`` and ``make watch``: run the public tests and explain what they found."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from .harness import rubric
from .harness.feedback import Feedback, files_of
from .harness.messages import LANGUAGES, language_of
from .harness.page import LEVELS, Page
from .harness.rubric import ROOT
from .harness.terminal import exit_status, painter
from .harness.watch import Walk, watch

# Plugins of pytest that the page does not need; their imports and hooks take longer than the tests.
UNUSED_PLUGINS = (
    "cacheprovider", "doctest", "faulthandler", "junitxml", "legacypath", "logging", "pastebin", "setuponly",
    "setupplan", "stepwise", "subtests", "threadexception", "unittest", "unraisableexception", "warnings",
)  # fmt: skip


def main() -> int:
    """Run the tests, print the page, and return 0 only if every selected test passed."""
    try:
        assignment = rubric.load()
    except rubric.RubricError as error:
        print(error, file=sys.stderr)
        return 2
    arguments, pytest_arguments = _parser(assignment).parse_known_args()
    chosen = [assignment.tasks[number - 1] for number in arguments.task or range(1, 1 + len(assignment.tasks))]

    def run(tasks: Sequence[rubric.Task]) -> int:
        return _run(assignment, tasks, arguments, pytest_arguments)

    if not arguments.watch:
        return run(chosen)
    with tempfile.NamedTemporaryFile() as file:
        arguments.memory = Path(file.name)
        return watch(chosen, run, arguments.memory, arguments.lang)


def _run(assignment: rubric.Rubric, tasks: Sequence[rubric.Task], arguments, chosen: list[str]) -> int:
    feedback = Feedback(assignment, arguments.lang, None if len(tasks) == len(assignment.tasks) else tasks)
    status = pytest.main(_options(chosen, feedback.tasks), plugins=[feedback])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) and not feedback.broken:
        return int(status)  # pytest has printed why
    options = (feedback, painter(), arguments.all, arguments.verbose, arguments.hint)
    page = Walk(*options, arguments.memory) if arguments.memory else Page(*options)
    print("\n".join(page.lines()))
    return int(status)


def _parser(assignment: rubric.Rubric) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__, allow_abbrev=False)
    numbers = range(1, 1 + len(assignment.tasks))
    parser.add_argument("--task", type=int, choices=numbers, action="append", help="only this task; repeatable")
    parser.add_argument(
        "--hint", type=int, choices=LEVELS, default=1, help="1: a question, 2: also where, and which mistake"
    )
    parser.add_argument("--all", action="store_true", help="explain every failing property")
    parser.add_argument("--watch", action="store_true", help="rerun the affected tests whenever a file is saved")
    parser.add_argument("--memory", type=Path, help=argparse.SUPPRESS)  # of a watch
    parser.add_argument("--verbose", action="store_true", help="list every test")
    parser.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    parser.epilog = "All other arguments go to pytest, such as -k WORD, -x or tests/test_norm.py."
    return parser


def _options(chosen: list[str], tasks: Sequence[rubric.Task] | None) -> list[str]:
    """Build pytest's arguments: the test files, unless some were chosen, and no plugin that is not needed."""
    options = ["--disable-plugin-autoload", f"--rootdir={ROOT}", "--assert=plain", "--tb=no"]
    options += ["--continue-on-collection-errors", *(f"-pno:{name}" for name in UNUSED_PLUGINS)]
    files_chosen = any("test_" in argument and ".py" in argument for argument in chosen)
    return [*options, *chosen, *([] if files_chosen else files_of(tasks))]


if __name__ == "__main__":
    sys.exit(exit_status(main))
