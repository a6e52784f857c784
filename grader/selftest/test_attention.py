"""Whoever needs a person is named, with a reason code: in the summary, at the end of the output, first on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.core.intake.origin import Origin
from grader.core.messages import Message, as_data, from_data, quoted, say
from grader.core.results.attention import attention
from grader.core.results.outcome import FRAME, RAISED, RAISED_INSIDE, SYNTAX_ERROR, Outcome
from grader.core.results.report import Report
from grader.core.results.views import told
from grader.core.rubric import LatePenalty
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


@pytest.mark.process
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
