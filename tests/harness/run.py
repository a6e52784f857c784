"""``python -m tests``: run the public tests and explain what they found."""

import argparse
import os
import sys

import pytest

from . import rubric
from .feedback import Feedback, files_of
from .messages import language_of
from .page import Page
from .student import ROOT
from .terminal import painter

# Plugins of pytest that the page does not need; their imports and hooks take longer than the tests.
UNUSED_PLUGINS = (
    "cacheprovider", "doctest", "faulthandler", "junitxml", "legacypath", "logging", "pastebin", "setuponly",
    "setupplan", "stepwise", "subtests", "threadexception", "unittest", "unraisableexception", "warnings",
)  # fmt: skip


def main() -> int:
    """Run the tests, print the page, and return 0 only if every selected test passed."""
    try:
        return _run(rubric.load())
    except rubric.RubricError as error:
        print(error, file=sys.stderr)
        return 2


def _run(assignment: rubric.Rubric) -> int:
    arguments, pytest_arguments = _parser(assignment).parse_known_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # older Windows consoles have other encodings
    task = assignment.tasks[arguments.task - 1] if arguments.task else None
    feedback = Feedback(assignment, arguments.lang or language_of(), task)
    status = pytest.main(_options(pytest_arguments, task), plugins=[feedback])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) and not feedback.broken:
        return int(status)  # pytest has printed why
    page = Page(feedback, painter(), explain_all=arguments.all, verbose=arguments.verbose)
    print("\n".join(page.lines()))
    return int(status)


def _parser(assignment: rubric.Rubric) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__, allow_abbrev=False)
    parser.add_argument("--task", type=int, choices=range(1, 1 + len(assignment.tasks)), help="only this task")
    parser.add_argument("--all", action="store_true", help="explain every property that fails")
    parser.add_argument("--verbose", action="store_true", help="list every test, and show tracebacks")
    parser.add_argument("--lang", choices=("en", "zh"), help="language; otherwise that of the locale")
    parser.epilog = "All other arguments go to pytest, such as -k WORD, -x or tests/test_norm.py."
    return parser


def _options(chosen: list[str], task: rubric.Task | None) -> list[str]:
    """Build pytest's arguments: the test files, unless some were chosen, and no plugin that is not needed."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = [f"--rootdir={ROOT}", "--assert=plain", "--tb=no", "--continue-on-collection-errors"]
    options += [option for name in UNUSED_PLUGINS for option in ("-p", f"no:{name}")]
    files_chosen = any("test_" in argument and ".py" in argument for argument in chosen)
    return [*options, *chosen, *([] if files_chosen else files_of(task))]
