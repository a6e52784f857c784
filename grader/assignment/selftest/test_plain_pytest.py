"""Plain pytest with pytest-json-report comes to the same outcomes as the judge's way of running hidden tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results.outcome import Outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.selftest import long_only

# Of each outcome in pytest's words; in a report, what is not done or crashes has an outcome of its own.
WORDS = {Outcome.PASSED: "passed", Outcome.NOT_ASSESSED: "skipped"}


def handed_in() -> dict[str, str]:
    wrong = next(variant for variant in all_variants() if variant.name.endswith("eps_added_to_the_quotient"))
    stub = ASSIGNMENT.root / "src" / "modeling" / "pos_emb.py"
    return {**wrong.files, "src/modeling/pos_emb.py": stub.read_text(encoding="utf-8")}


@long_only
@pytest.mark.process
def test_pytest_alone_comes_to_the_same_outcomes(tmp_path: Path) -> None:
    files, report = handed_in(), tmp_path / "report.json"
    (tmp_path / "files.json").write_text(json.dumps(files), encoding="utf-8")
    command = [sys.executable, "-m", "grader.lab.plain_pytest", str(tmp_path / "files.json"), str(report)]
    run = subprocess.run(command, cwd=ASSIGNMENT.root, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    tests = json.loads(report.read_bytes())["tests"]
    plainly = {test["nodeid"].partition("::")[2]: test["outcome"] for test in tests}

    hidden = HiddenTests(ASSIGNMENT, ("cpu",), 0, ASSIGNMENT.rubric.properties)
    results = run_tests(hidden, Student(files, InProcessWorker, ASSIGNMENT.rubric, Limits()))
    items = [item for of_property in hidden.tests.values() for item in of_property]
    judged = {
        item.nodeid.partition("::")[2]: WORDS.get(result.outcome, "failed")
        for item, result in zip(items, results, strict=True)
    }
    assert judged == plainly
    assert {*judged.values()} == {"passed", "failed", "skipped"}  # the second device is skipped here
