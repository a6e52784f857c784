"""Whole submissions, from text to report, through locked workers."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from grader.core.assignment import Assignment
from grader.core.intake.discover import discover
from grader.core.judge.judge import Judge
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.core.sandbox.limits import Limits
from grader.core.settings import CannotGrade, Settings
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, SWIGLU, edited, submission

pytestmark = pytest.mark.process

HANGS = (SWIGLU, "        gate = nn.functional.silu", "        while True: pass\n        gate = nn.functional.silu")


@pytest.fixture(scope="module")
def hasty(judges: Judges, assignment: Assignment) -> Judge:
    """A judge of the bonus task with little patience, whose hints are Chinese."""
    limits = Limits(request_s=1.5, retry_s=0.5, submission_s=60)
    return judges(Settings(assignment, device="cpu", only="task2", language="zh", limits=limits))


def lost(report: Report) -> dict[str, Outcome]:
    """What became of the properties that did not earn their points."""
    return {name: prop.outcome for name, prop in report.properties.items() if prop.points < prop.max_points}


def test_the_reference_earns_everything_and_is_told_nothing(grader: Judge, assignment: Assignment) -> None:
    report = grader.grade(submission(assignment.solution()))
    assert (report.score, report.bonus) == (report.max_score, report.max_bonus)
    assert {prop.hint for prop in report.properties.values()} == {""}


def test_stubs_earn_nothing_and_are_told_so(grader: Judge, assignment: Assignment) -> None:
    report = grader.grade(submission(assignment.stubs()))
    assert (report.score, report.bonus) == (0, 0)
    assert {prop.outcome for prop in report.properties.values()} == {Outcome.NOT_IMPLEMENTED}
    assert assignment.stubs().keys() == {file.path for file in report.submission.files}


def test_a_mistake_costs_its_property_and_is_named(grader: Judge, rubric: Rubric) -> None:
    report = grader.grade(submission(edited(SEES_LATER_TOKENS)))
    assert lost(report) == {"attention_causal": Outcome.FAILED}
    wrong = report.properties["attention_causal"]
    assert wrong.misconception == "attention_sees_later_tokens"
    assert wrong.hint == rubric.misconception(wrong.misconception).hint["en"]
    assert any(case.outcome is Outcome.FAILED and case.message for case in wrong.cases)


def test_a_hang_costs_its_properties_only(hasty: Judge) -> None:
    report = hasty.grade(submission(edited(HANGS)))
    assert lost(report) == {"swiglu_gate": Outcome.TIMED_OUT}
    assert report.properties["swiglu_gate"].hint.startswith("你的代码没有按时给出结果")


def test_grading_again_gives_the_same_bytes_but_for_the_time(grader: Judge) -> None:
    texts = []
    for _ in range(2):
        data = grader.grade(submission(edited(SEES_LATER_TOKENS))).model_dump(mode="json")
        assert {data["provenance"].pop(name) is not None for name in ("started_at", "duration_s")} == {True}
        texts.append(json.dumps(data))
    assert texts[0] == texts[1]


def test_a_package_whose_sibling_fails_costs_the_sibling_only(grader: Judge) -> None:
    """``src/__init__.py`` imports both files, and one of them has a syntax error."""
    files = edited((ATTENTION, "def forward(", "def forward(:"))
    files["src/__init__.py"] = "from . import attention, swiglu\n"
    report = grader.grade(submission(files))
    assert (report.score, report.bonus) == (0, report.max_bonus)
    assert "SyntaxError" in report.properties["attention_heads"].cases[0].message


def test_helper_modules_and_further_arguments_are_welcome(grader: Judge) -> None:
    files = edited(
        (SWIGLU, "nn.functional.silu(", "opened("),
        (SWIGLU, "import torch\n", "import torch\nfrom .tools.gates import opened\n"),
        (SWIGLU, "init_seed: int = 42)", "init_seed: int = 42, process_group=None)"),
        (ATTENTION, "def forward(self, input: Tensor)", "def forward(self, input, offset=0)"),
    )
    files["src/tools/gates.py"] = "def opened(x):\n    return x * x.sigmoid()\n"
    report = grader.grade(submission(files))
    assert lost(report) == {}


def test_our_own_failure_is_nobodys_zero(assignment: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of our own making")

    forgetful = Settings(assignment, device="cpu", remember=False)  # else it knows the reference's replies to be right
    with closing(Judge(forgetful)) as grader:
        monkeypatch.setattr(assignment.part("oracle"), "swiglu", fail)
        report = grader.grade(submission(assignment.solution()))
    assert (report.status, report.score, report.bonus) == ("grader_error", None, None)
    assert report.reason is not None
    assert re.match(r"(?s)swiglu_gate, .*ZeroDivisionError: of our own making", report.reason)
    assert lost(report) == {"swiglu_gate": Outcome.GRADER_ERROR}


def test_a_reference_that_fails_stops_everything(assignment: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = edited(SEES_LATER_TOKENS)
    monkeypatch.setattr(Assignment, "solution", lambda _: broken)
    with pytest.raises(CannotGrade, match=r"^the reference fails a hidden test.* attention_causal, "):
        Judge(Settings(assignment, device="cpu", only="task1"))


def test_what_cannot_be_read_is_not_run(grader: Judge, tmp_path: Path) -> None:
    (tmp_path / "pavel.zip").write_bytes(b"")
    (candidate,) = discover([tmp_path])
    report = grader.grade(candidate.read())
    assert (report.status, report.score, report.tasks) == ("unreadable", None, [])
    assert report.reason == "The zip cannot be read: File is not a zip file."
