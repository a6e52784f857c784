"""``python -m grader.lab.plain_pytest FILES REPORT``: the hidden tests as most graders run them.

pytest runs every test in the submission's process, which it trusts; pytest-json-report writes the outcomes. This is the
baseline of ``make bench``, and an independent check of every outcome.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.core.judge.compare import MARGINS
from grader.core.judge.hidden_tests import Plugin, property_of
from grader.core.judge.student import Student
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits


class PlainPlugin(Plugin):
    """Passes the submission to the hidden tests; pytest does the rest."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Take a submission, path to source text."""
        super().__init__(("cpu",), 0, ASSIGNMENT.rubric.properties)
        self._student = Student(files, InProcessWorker, ASSIGNMENT.rubric, Limits())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin a case; the first one of a property imports the submission anew."""
        assert self._student is not None, "it was given at the start"
        if property_of(item) != self._student.property_id:
            self._student.announce(property_of(item))
            self._student.begin(property_of(item))
        self._student.start_case()
        MARGINS.clear()


def main(files: Path, report: Path) -> int:
    """Run the tests on the submission in a JSON file, and write pytest-json-report's report."""
    torch.set_num_threads(1)
    folder = ASSIGNMENT.hidden
    options = ["-q", "-c", "/dev/null", f"--rootdir={folder}", f"--confcutdir={folder}", "-Wignore", "--tb=no"]
    options += ["--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["--json-report", f"--json-report-file={report}", "--json-report-omit", "collectors", "warnings"]
    plugin = PlainPlugin(json.loads(files.read_text(encoding="utf-8")))
    return int(pytest.main([str(folder), *options], plugins=[plugin]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
