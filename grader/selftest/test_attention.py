"""Whoever needs a person is named, with a reason code: in the summary, at the end of the output, first on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from grader.core.intake.origin import Origin, Source
from grader.core.intake.submission import Concern
from grader.core.messages import Message, as_data, from_data, quoted, say
from grader.core.results.attention import attention
from grader.core.results.language import told
from grader.core.results.outcome import FRAME, RAISED, RAISED_INSIDE, SYNTAX_ERROR, Outcome
from grader.core.results.report import CaseReport, PropertyReport, Report, Status, TaskReport
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import report
from grader.selftest.term import run

NOTHING: Mapping[str, Sequence[tuple[Outcome, Message]]] = MappingProxyType({})
WHY = quoted("why")


def graded(
    score: float | None,
    status: Status = "graded",
    origin: Origin | None = None,
    task1: float = 0,
    lost: Mapping[str, Sequence[tuple[Outcome, Message]]] = NOTHING,
    reason: Message = WHY,
) -> Report:
    """A submission with so many points, those of task 1 among them, and with properties that it lost, by task."""
    none = score is None
    most = {"task1": (task1, 42.0), "task2": (0.0 if score is None else score - task1, 58.0)}
    tasks = [
        TaskReport(id=task, title=task, score=points, max_score=all_points, properties=_properties(lost.get(task, ())))
        for task, (points, all_points) in most.items()
    ]
    return report("ada").model_copy(
        update={
            "submission": report("ada").submission.model_copy(update={"origin": origin}),
            "status": status,
            "reason": str(reason) if none else None,
            "reason_parts": as_data(reason) if none else [],
            "score": score,
            "bonus": None if none else 0.0,
            "max_score": 100.0,
            "max_bonus": 50.0,
            "tasks": [] if none else tasks,
        }
    )


def _properties(lost: Sequence[tuple[Outcome, Message]]) -> list[PropertyReport]:
    return [
        PropertyReport(
            id=f"p{number}",
            title="",
            points=0.0,
            max_points=1.0,
            outcome=outcome,
            cases=[CaseReport(id="float32-cpu", outcome=outcome, message=str(message), parts=as_data(message))],
        )
        for number, (outcome, message) in enumerate(lost)
    ]


def ended(*outcomes: Outcome) -> Mapping[str, Sequence[tuple[Outcome, Message]]]:
    """Properties of task 1 that ended in these ways."""
    return {"task1": [(outcome, quoted("")) for outcome in outcomes]}


def late(source: Source, when: str | None) -> Origin:
    """A platform's flag."""
    return Origin(source=source, late=True, submitted_at=when)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (graded(100, task1=42), []),
        (graded(58, lost=ended(Outcome.FAILED)), []),
        (graded(58, lost=ended(*[Outcome.CRASHED] * 3)), ["nothing_ran"]),
        (graded(58, lost=ended(Outcome.CRASHED, Outcome.NOT_IMPLEMENTED)), ["nothing_ran"]),
        (graded(58, lost=ended(*[Outcome.NOT_IMPLEMENTED] * 3)), []),
        (graded(0, lost=ended(*[Outcome.NOT_IMPLEMENTED] * 3)), []),
        (graded(0, lost=ended(Outcome.MISSING)), []),
        (graded(3, task1=3, lost=ended(*[Outcome.FAILED] * 3)), ["near_zero"]),
        (graded(90, task1=32, lost=ended(Outcome.FAILED, Outcome.TIMED_OUT)), ["timed_out"]),
        (graded(90, task1=32, lost=ended(Outcome.INCONSISTENT)), ["inconsistent"]),
        (graded(None, "unreadable"), ["unreadable"]),
        (graded(None, "grader_error"), ["grader_error"]),
        (graded(None, "unreadable", Origin(source="roster")), []),
        (graded(100, origin=late("canvas", None), task1=42), ["late_without_date"]),
        (graded(100, origin=late("gradescope", "2026-10-02T12:00:00+00:00"), task1=42), []),
    ],
    ids=[
        *(
            "full",
            "a_task_wrong",
            "a_task_that_never_ran",
            "a_piece_that_never_ran",
            "a_task_not_begun",
            "stubs",
            "nothing_there",
            "near_zero",
        ),
        *(
            "timed_out",
            "inconsistent",
            "unreadable",
            "grader_error",
            "nothing_handed_in",
            "late_without_date",
            "late_with_date",
        ),
    ],
)
def test_each_reason_has_its_code(own: Report, expected: list[str]) -> None:
    assert [one.code for one in attention(own)] == expected


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
def test_a_crash_of_which_the_machine_may_be_the_cause_needs_a_person(name: str) -> None:
    crash = (Outcome.CRASHED, ENVIRONMENT[name])
    (one,) = attention(graded(90, task1=32, lost={"task1": [crash, crash], "task2": [crash, crash]}))
    cause = TOLD.get(name, f"the module {name} belongs to Python or torch, but is not installed here.")
    assert (one.code, one.text) == ("environment", f"task1, task2: {cause}")
    assert from_data(one.parts) == one.text


@pytest.mark.parametrize("name", THE_CODE_ITSELF)
def test_any_other_crash_does_not_whatever_its_words(name: str) -> None:
    assert attention(graded(90, task1=32, lost={"task1": [(Outcome.CRASHED, THE_CODE_ITSELF[name])]})) == []


def test_a_reason_keeps_its_parts() -> None:
    reason = say("The zip cannot be read: {problem}.", problem=say("File is not a zip file"))
    (one,) = attention(graded(None, "unreadable", reason=reason))
    assert one.text == "The zip cannot be read: File is not a zip file."
    assert told(one.text, one.parts, ASSIGNMENT, "zh") == "zip 无法读取：它不是 zip 文件。"


def test_what_intake_has_found_is_passed_on() -> None:
    concerns = [Concern("left_out", quoted("a.py is damaged")), Concern("renamed", quoted("b.py may be it"))]
    assert [one.code for one in attention(graded(100, task1=42), concerns)] == ["left_out", "renamed"]


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
