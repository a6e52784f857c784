"""Reports made by hand, for tests of code that reads reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.core.grades.graded import GradedClass
from grader.core.intake.origin import Origin, Student
from grader.core.results.database import opened
from grader.core.results.files import stamp, write_json
from grader.core.results.ledger import Ledger
from grader.core.results.outcome import Outcome
from grader.core.results.report import (
    CaseReport,
    Environment,
    Practice,
    PropertyReport,
    Provenance,
    Report,
    SourceFile,
    SubmissionInfo,
    Summary,
    TaskReport,
    summary_line,
)
from grader.core.rubric import Rubric

ENVIRONMENT = Environment(python="3.12.1", torch="2.13.0+cpu", devices=["cpu"], isolation="landlock+seccomp")
PROVENANCE = Provenance(
    grader_version="1.0.0",
    rubric_sha256="a" * 64,
    hidden_tests_sha256="b" * 64,
    seed=0,
    started_at="2026-10-02T12:00:00+00:00",
    duration_s=0.5,
    command="grader grade class",
)
Ended = dict[str, tuple[Outcome, float]]  # by property: its outcome, and its points
BONUS = "bonus"
PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
USUAL: Ended = {"eps": (PASSED, 6.0), "mean": (FAILED, 4.0), BONUS: (PASSED, 5.0)}


def report(identifier: str, ended: Ended = USUAL, files: str = "0", name: str = "", **fields: Any) -> Report:
    """A graded submission of two tasks.

    Args:
        identifier: The id of the submission.
        ended: The properties; the one called ``bonus`` is in a bonus task of its own.
        files: The digest of the one file.
        name: The name of the student.
        fields: Fields to replace, of the report, its environment or its provenance.
    """
    tasks = [_task("task1", {name: end for name, end in ended.items() if name != BONUS})]
    tasks += [_task("task2", {name: end for name, end in ended.items() if name == BONUS})]
    origin = Origin(source="canvas", students=(Student(id=f"c-{identifier}", name=name),), late=False) if name else None
    info = SubmissionInfo(
        id=identifier, sha256=files * 64, files=[SourceFile(path="src/a.py", sha256=files * 64)], origin=origin
    )
    environment = {field: fields.pop(field) for field in Environment.model_fields if field in fields}
    provenance = {field: fields.pop(field) for field in Provenance.model_fields if field in fields}
    whole: dict[str, Any] = {
        "assignment": "a2",
        "submission": info,
        "status": "graded",
        "score": tasks[0].score,
        "max_score": tasks[0].max_score,
        "bonus": tasks[1].score,
        "max_bonus": tasks[1].max_score,
        "tasks": tasks,
        "environment": ENVIRONMENT.model_copy(update=environment),
        "provenance": PROVENANCE.model_copy(update=provenance),
    }
    return Report(**(whole | fields))


def write(out: Path, reports: Sequence[Report], practice: Mapping[str, Practice] | None = None) -> Path:
    """Write reports and their summary as ``grader grade`` does, and return the folder."""
    for each in reports:
        path = out / each.submission.id / "report.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, each)
    lines = [summary_line(each, (practice or {}).get(each.submission.id)) for each in reports]
    how = {name: getattr(reports[0], name) for name in ("assignment", "environment", "provenance")}
    write_json(out / "summary.json", Summary(submissions=lines, **how))
    return out


def write_class(out: Path, *reports: Report) -> Path:
    """The same, with a ledger, as after a run over these submissions."""
    write(out, reports)
    with opened(out) as connection:
        ledger = Ledger(connection, {"made": "by hand"})
        ledger.expect([each.submission.id for each in reports], fresh=False)
        for each in reports:
            ledger.record(each, stamp(out / each.submission.id / "report.json"))
    return out


def known_class(reports: Sequence[Report], rubric: Rubric) -> GradedClass:
    """A class about which nobody has decided anything, without a folder."""
    lines = [summary_line(one) for one in reports]
    by_id = {one.submission.id: one for one in reports}
    return GradedClass(Path(), lines, rubric, by_id.__getitem__)


def unreadable(identifier: str, reason: str = "The zip cannot be read.", **fields: Any) -> Report:
    """A report of a submission that is unreadable."""
    none: dict[str, Any] = {"status": "unreadable", "reason": reason, "score": None, "bonus": None, "tasks": []}
    return report(identifier, **(none | fields))


def _task(identifier: str, ended: Ended) -> TaskReport:
    properties = [
        PropertyReport(
            id=name,
            title=f"{name} is right",
            points=most if outcome is PASSED else 0.0,
            max_points=most,
            outcome=outcome,
            misconception="eps_outside" if outcome is FAILED else None,
            cases=[CaseReport(id="float32-cpu", outcome=outcome, message="" if outcome is PASSED else "wrong at [0]")],
        )
        for name, (outcome, most) in ended.items()
    ]
    score = sum(prop.points for prop in properties)
    return TaskReport(
        id=identifier,
        title=identifier,
        score=score,
        max_score=sum(prop.max_points for prop in properties),
        properties=properties,
    )
