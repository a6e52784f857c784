"""Submissions for manual review and their reasons, outcomes of properties, and statistics checked by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.core.intake.origin import Origin
from grader.core.messages import Message, as_data, from_data, quoted, say
from grader.core.results.attention import attention
from grader.core.results.outcome import (
    FRAME,
    RAISED,
    RAISED_INSIDE,
    SYNTAX_ERROR,
    CaseResult,
    Outcome,
    by_property,
    property_outcome,
)
from grader.core.results.report import Report
from grader.core.results.statistics import Bin, ClassStatistics, class_statistics, distribution, entry
from grader.core.results.views import ADVICE, CONSEQUENCE, told
from grader.core.rubric import LatePenalty, Rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import MESSAGES, graded, ungraded
from grader.selftest.term import run

CRASHED = Outcome.CRASHED
TASK1 = [prop.id for prop in ASSIGNMENT.rubric.tasks[0].properties]
ALL = [*ASSIGNMENT.rubric.properties]
CRASH_BESIDE_STUBS = dict.fromkeys(TASK1, Outcome.NOT_IMPLEMENTED) | {TASK1[0]: CRASHED}
ABSENT = Origin(source="roster")
LATE = Origin(source="canvas", late=True)
LATE_SINCE = Origin(source="gradescope", late=True, submitted_at="2026-10-02T12:00:00+00:00")

REASONS: dict[str, tuple[Report, list[str]]] = {
    "full": (graded("ada"), []),
    "a_task_wrong": (graded("ada", dict.fromkeys(TASK1, Outcome.FAILED)), []),
    "a_task_that_never_ran": (graded("ada", dict.fromkeys(TASK1, CRASHED)), ["nothing_ran"]),
    "a_piece_that_never_ran": (graded("ada", CRASH_BESIDE_STUBS), ["nothing_ran"]),
    "a_task_not_begun": (graded("ada", dict.fromkeys(TASK1, Outcome.NOT_IMPLEMENTED)), []),
    "stubs": (graded("ada", dict.fromkeys(ALL, Outcome.NOT_IMPLEMENTED)), []),
    "nothing_there": (graded("ada", dict.fromkeys(ALL, Outcome.MISSING)), []),
    "near_zero": (graded("ada", dict.fromkeys(ALL, Outcome.FAILED), score=6.0), ["near_zero"]),
    "above_zero": (graded("ada", dict.fromkeys(ALL, Outcome.FAILED), score=7.0), []),
    "timed_out": (graded("ada", {"attention_causal": Outcome.TIMED_OUT}), ["timed_out"]),
    "inconsistent": (graded("ada", {"attention_causal": Outcome.INCONSISTENT}), ["inconsistent"]),
    "unreadable": (ungraded("ada", "unreadable", "why"), ["unreadable"]),
    "grader_error": (ungraded("ada", "grader_error", "why"), ["grader_error"]),
    "nothing_handed_in": (ungraded("ada", "unreadable", "why", origin=ABSENT), []),
    "late_without_date": (graded("ada", origin=LATE), []),
    "late_with_date": (graded("ada", origin=LATE_SINCE), []),
}


@pytest.mark.parametrize(("own", "expected"), REASONS.values(), ids=REASONS)
def test_each_reason_has_its_code(own: Report, expected: list[str]) -> None:
    assert [one.code for one in attention(own)] == expected


def test_where_lateness_costs_points_its_time_matters() -> None:
    for origin, expected in ((LATE, ["late_without_date"]), (LATE_SINCE, [])):
        found = attention(graded("ada", origin=origin), penalty=LatePenalty(flat=0.1))
        assert [one.code for one in found] == expected


PLACE = say(FRAME, path="src/a.py", line=1, function="f", code="import pdb")


def raised(exception: str, message: str, module: str = "") -> Message:
    """What a case says of an exception."""
    return say(RAISED, exception=exception, message=message, module=module)


ENVIRONMENT = {
    "pdb": raised("ModuleNotFoundError", "No module named 'pdb'", "pdb").then(PLACE),
    "xml": raised("ModuleNotFoundError", "No module named 'xml.etree'", "xml.etree"),
    "torch": raised("ModuleNotFoundError", "No module named 'torch._dynamo'", "torch._dynamo"),
    "file": say(RAISED_INSIDE, exception="PermissionError", message="Not permitted: '/x'", file="torch/_inductor/a.py"),
    "thread": raised("RuntimeError", "can't start new thread").then(PLACE),
    "syntax": say(SYNTAX_ERROR, exception="SyntaxError", message="invalid syntax", python="3.11"),
}
TOLD = {
    "file": "torch could not open a file or folder here.",
    "thread": "student code may not start threads here.",
    "syntax": "Python 3.11 does not support this syntax; check whether a newer Python does.",
}
THE_CODE_ITSELF = {
    "scipy": raised("ModuleNotFoundError", "No module named 'scipy'", "scipy"),
    "permission": raised("PermissionError", "[Errno 1] Operation not permitted: '/tmp/a'"),
    "multiply": raised("RuntimeError", "can't multiply"),
    "indentation": raised("IndentationError", "unexpected indent (a.py, line 1)"),
    "end": say("the process exited"),
    "words": raised("ValueError", "No module named 'pdb' (raised in torch/a.py) (the grader runs Python 3.11)"),
    "ours_alone": quoted("ModuleNotFoundError: No module named 'pdb'"),
}


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_a_crash_of_which_the_machine_may_be_the_cause_needs_a_person(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MESSAGES, CRASHED, ENVIRONMENT[name])
    (one,) = attention(graded("ada", dict.fromkeys(("attention_heads", "attention_causal", "swiglu_gate"), CRASHED)))
    cause = TOLD.get(name, f"the module {name} belongs to Python or torch, but is not installed here.")
    assert (one.code, one.text) == ("environment", f"task1, task2: {cause}")
    assert from_data(one.parts) == one.text


@pytest.mark.parametrize("name", THE_CODE_ITSELF)
def test_any_other_crash_does_not_whatever_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MESSAGES, CRASHED, THE_CODE_ITSELF[name])
    assert attention(graded("ada", {"attention_causal": CRASHED})) == []


def test_a_reason_keeps_its_parts() -> None:
    reason = say("The zip cannot be read: {problem}.", problem=say("File is not a zip file"))
    (one,) = attention(ungraded("ada", "unreadable", reason))
    assert one.text == "The zip cannot be read: File is not a zip file."
    assert told(one.text, one.parts, ASSIGNMENT, "zh") == "zip 无法读取：它不是 zip 文件。"


def test_what_intake_has_found_is_passed_on() -> None:
    concerns = {
        "left_out": quoted("a.py is damaged"),
        "renamed": quoted("b.py may be it").then(say("If so, rename it.")),
    }
    notices = [quoted("it was moved."), *(text.filled(concern=code) for code, text in concerns.items())]
    report = graded("ada")
    noticed = {"notices": [*map(str, notices)], "notice_parts": [*map(as_data, notices)]}
    report = report.model_copy(update={"submission": report.submission.model_copy(update=noticed)})
    assert [(one.code, one.text) for one in attention(report)] == [*concerns.items()]


@pytest.mark.usefixtures("judged")
def test_the_list_is_in_the_summary_in_the_output_and_on_the_page(tmp_path: Path) -> None:
    """A 7z archive and an honest neighbour's empty zip."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    (tmp_path / "class" / "bo.zip").write_bytes(b"")
    out = tmp_path / "out"
    result = run("grade", tmp_path / "class", "--out", out, "--device", "cpu", "--lang", "en")
    (head,) = (number for number, line in enumerate(result.stdout.splitlines()) if line == "2 for manual review:")
    ada, bo, following = result.stdout.splitlines()[head + 1 :]
    assert following == f"Next: grader review {out}"
    assert ada.startswith("ada: unreadable: ")
    assert "ada.7z cannot be graded: ask for a zip." in ada
    assert bo == "bo: unreadable: The zip cannot be read: File is not a zip file."
    summary = json.loads((out / "summary.json").read_text())
    assert [(one["id"], one["code"]) for one in summary["attention"]] == [("ada", "unreadable"), ("bo", "unreadable")]
    for language, heading in (("en", "For manual review"), ("zh", "需要人工查看")):
        run("report", out, "--lang", language)
        page = (out / "html" / "index.html").read_text()
        assert page.index(heading) < page.index('<h2 id="points">')


# ── Outcomes and statistics ───────────────────────────────────────────────────────────────────────────────────────────

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
OURS, UNASSESSED = Outcome.GRADER_ERROR, Outcome.NOT_ASSESSED


def cases(outcomes: Sequence[Outcome], property_id: str = "attention_heads") -> list[CaseResult]:
    return [CaseResult(property_id, f"case{number}", outcome) for number, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([PASSED, PASSED], PASSED),
        ([PASSED, FAILED, CRASHED], FAILED),
        ([PASSED, CRASHED, FAILED], CRASHED),
        ([PASSED, UNASSESSED], PASSED),
        ([UNASSESSED, UNASSESSED], UNASSESSED),
        ([FAILED, CRASHED, OURS], OURS),
        ([UNASSESSED, OURS], OURS),
        ([], OURS),
    ],
    ids=lambda value: ("_".join(value) or "no_case") if isinstance(value, list) else f"is_{value}",
)
def test_the_first_case_that_did_not_pass_speaks_for_the_property(outcomes: list[Outcome], expected: Outcome) -> None:
    assert property_outcome(cases(outcomes)) is expected


def test_a_property_without_a_case_is_our_failure(rubric: Rubric) -> None:
    first, *others = [CaseResult(identifier, "case", PASSED) for identifier in rubric.properties]
    outcomes = {name: property_outcome(ended) for name, ended in by_property(rubric, others).items()}
    assert [name for name, outcome in outcomes.items() if outcome is OURS] == [first.property_id]


def test_results_of_a_property_outside_the_rubric_are_no_silent_zero(rubric: Rubric) -> None:
    with pytest.raises(KeyError, match="swiglu_gate"):
        by_property(rubric.only("task1"), cases([PASSED], "swiglu_gate"))


def test_every_outcome_that_is_no_wrong_value_comes_with_advice() -> None:
    """In both languages, as all sentences: ``test_conditions_told.py``."""
    assert set(ADVICE.texts) - {CONSEQUENCE} == set(Outcome) - {PASSED, FAILED}


def statistics_of(*reports: Report) -> ClassStatistics:
    return class_statistics([entry(report) for report in reports])


@pytest.mark.parametrize(
    ("most", "lows"),
    [(100, range(0, 100, 10)), (50, range(0, 50, 5)), (42, range(0, 42, 5)), (22, range(0, 22, 5)), (6, range(6))],
    ids=str,
)
def test_whoever_reaches_the_most_stands_apart(most: float, lows: list[float]) -> None:
    bins = distribution([most, 0, 0], most).bins
    assert [one.low for one in bins] == [*lows, most]
    assert bins[-1] == Bin(most, most, 1)
    assert bins[0].count == 2
    assert sum(one.count for one in bins) == 3


@pytest.mark.parametrize("values", [[0.0], [0.004, 0.3, 0.7], [3.5, 19.551], [120.0, 20.0]], ids=str)
def test_without_a_limit_every_value_is_inside_some_bin(values: list[float]) -> None:
    spread = distribution(values)
    assert sum(one.count for one in spread.bins) == len(values)
    assert all(one.low < one.high for one in spread.bins)
    assert spread.bins[-1].low <= max(values) < spread.bins[-1].high
    assert len(spread.bins) <= 11


def test_a_property_that_nobody_could_be_assessed_on_has_no_rate() -> None:
    (prop,) = [one for one in statistics_of(graded("ada", {"swiglu_gate": UNASSESSED})).properties if one.assessed == 0]
    assert (prop.id, prop.rate, prop.discrimination) == ("swiglu_gate", None, None)


def test_a_submission_holds_a_misconception_once() -> None:
    two = {"attention_rotary": "attention_unscaled", "attention_heads": "attention_unscaled"}
    one = {"attention_causal": "attention_sees_later_tokens"}
    reports = [
        graded("ada", dict.fromkeys(two, FAILED), two),
        graded("bo", dict.fromkeys([*two, *one], FAILED), two | one),
        graded("chen", {"attention_causal": FAILED}),
    ]
    found = [(one.id, one.properties, one.submissions) for one in statistics_of(*reports).misconceptions]
    assert found == [
        ("attention_unscaled", ("attention_heads", "attention_rotary"), 2),
        ("attention_sees_later_tokens", ("attention_causal",), 1),
    ]


def test_a_class_of_which_nothing_was_graded_has_no_distribution() -> None:
    statistics = statistics_of(ungraded("ada", "unreadable", "no zip"))
    assert (statistics.score, statistics.bonus, statistics.duration_s) == (None, None, None)
    assert (statistics.properties, statistics.misconceptions, statistics.outcomes) == ((), (), {})


def test_points_that_nobody_could_earn_have_no_distribution() -> None:
    statistics = statistics_of(graded("ada", score=0.0, max_score=0.0))
    assert statistics.score is None
    assert statistics.bonus is not None
