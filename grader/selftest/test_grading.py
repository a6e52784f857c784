"""Whole submissions, from text to report, through locked workers."""

from __future__ import annotations

import pytest

from grader.core.assignment import Assignment
from grader.core.judge.judge import Judge
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.sandbox.limits import Limits
from grader.core.settings import CannotGrade, Settings
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import SEES_LATER_TOKENS, SWIGLU, edited, submission

pytestmark = pytest.mark.process

HANGS = (SWIGLU, "        gate = nn.functional.silu", "        while True: pass\n        gate = nn.functional.silu")


def lost(report: Report) -> dict[str, Outcome]:
    """What became of the properties that did not earn their points."""
    return {name: prop.outcome for name, prop in report.properties.items() if prop.points < prop.max_points}


def test_stubs_earn_nothing_and_are_told_so(grader: Judge, assignment: Assignment) -> None:
    report = grader.grade(submission(assignment.stubs()))
    assert (report.score, report.bonus) == (0, 0)
    assert {prop.outcome for prop in report.properties.values()} == {Outcome.NOT_IMPLEMENTED}
    assert assignment.stubs().keys() == {file.path for file in report.submission.files}


def test_a_hang_costs_its_properties_only(judges: Judges, assignment: Assignment) -> None:
    limits = Limits(request_s=1.5, retry_s=0.5, submission_s=60)
    hasty = judges(Settings(assignment, device="cpu", only="task2", language="zh", limits=limits))
    report = hasty.grade(submission(edited(HANGS)))
    assert lost(report) == {"swiglu_gate": Outcome.TIMED_OUT}
    assert report.properties["swiglu_gate"].hint.startswith("你的代码没有按时给出结果")


def test_a_reference_that_fails_stops_everything(assignment: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = edited(SEES_LATER_TOKENS)
    monkeypatch.setattr(Assignment, "solution", lambda _: broken)
    with pytest.raises(CannotGrade, match=r"^the reference fails a hidden test.* attention_causal, "):
        Judge(Settings(assignment, device="cpu", only="task1"))
