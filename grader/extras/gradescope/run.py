"""``python -m grader.extras.gradescope.run ROOT SEED`` grades one submission in Gradescope's container.

In ``ROOT`` Gradescope puts ``submission/`` with the student's files, ``submission_metadata.json``, and ``results/``,
where ``results.json`` is written even if grading fails.

Hidden tests, and with them the score, are shown when grades are published: results at once would make a search for
answers of every new upload. What cannot be read gets zero points and one visible test that says why. If the grader
itself failed, there is neither score nor test, so Gradescope enters no grade.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment, named
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Origin
from grader.core.intake.reading_process import Reader
from grader.core.results.files import write_json
from grader.core.results.outcome import Outcome
from grader.core.results.policy import Grade, grade
from grader.core.results.report import PropertyReport, Report, with_origin
from grader.core.run.executors import LocalExecutor
from grader.core.run.schedule import grade_all
from grader.core.settings import Settings

from .extension import student

_TEXT = {"output_format": "text"}
FAILURE = (
    "The autograder failed to grade this submission. This is not your fault and costs you no points; staff can see why."
)
HIDDEN_UNTIL = "after_published"  # or after_due_date, hidden, visible; Gradescope hides the score with a hidden test


def main(root: Path, assignment: Assignment, seed: int = 0) -> int:
    """Grade the submission and write the results; the exit status is 3 if the grader failed."""
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    try:
        report = _graded(root, assignment, seed)
    except Exception as error:
        told = {"status": "grader_error", "reason": f"{type(error).__name__}: {error}"}  # only staff see this
        write_json(folder / "results.json", _frame(0.0, told) | {"output": FAILURE})
        return 3
    given = None
    if report.score is not None and report.bonus is not None:
        given = grade(assignment.rubric.policy, report.score, report.bonus, report.submission.origin)
    write_json(folder / "results.json", results(report, given))
    return 3 if report.status == "grader_error" else 0


def _graded(root: Path, assignment: Assignment, seed: int) -> Report:
    with Reader() as reader:
        submission = reader.read(Candidate("submission", root / "submission", expected=assignment.rubric.expected))
    settings = Settings(assignment, seed=seed, command="run_autograder")
    with LocalExecutor(jobs=1) as executor, contextlib.closing(grade_all([submission], settings, executor)) as graded:
        return with_origin(next(graded), origin(root / "submission_metadata.json"))


def origin(path: Path) -> Origin | None:
    """The students and whether they are late, from Gradescope's metadata; None if it is missing or malformed."""
    try:
        data = json.loads(path.read_bytes())
        submitted = datetime.fromisoformat(data["created_at"])
        return Origin(
            source="gradescope",
            students=tuple(map(student, data.get("users", []))),
            late=submitted > datetime.fromisoformat(data["assignment"]["due_date"]),
            submitted_at=submitted.isoformat(timespec="seconds"),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def results(report: Report, given: Grade | None) -> dict[str, Any]:
    """What Gradescope shows for one submission, with its grade by the policy."""
    told = {"status": report.status, "environment": report.environment.model_dump()}
    content = _frame(report.provenance.duration_s, told)
    if report.status == "unreadable":
        unread = {"name": "Your submission can be read", "status": "failed", "visibility": "visible", **_TEXT}
        scores = {"score": 0.0, "max_score": report.max_score, "output": report.reason}
        return content | {"score": 0.0, "output": report.reason, "tests": [{**unread, **scores}]}
    if given is None:
        return content | {"output": FAILURE}
    # A last line says how the score came about; it is hidden with the score.
    total = filter(None, (f"Score {report.score:g}/{report.max_score:g}, bonus {report.bonus:g}.", given.remark))
    last = {"name": "Total", "output": " ".join(total), "visibility": HIDDEN_UNTIL, **_TEXT}
    return content | {
        "score": given.points,
        "output": "\n".join(report.submission.notices),
        "tests": [*_tests(report), last],
    }


def _frame(duration_s: float, extra: dict[str, Any]) -> dict[str, Any]:
    return {
        "execution_time": round(duration_s, 3),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": extra,
    }


def _tests(report: Report) -> Iterator[dict[str, Any]]:
    for place, task in enumerate(report.tasks, 1):
        for line, prop in enumerate(task.properties, 1):
            yield {
                **_TEXT,
                "name": f"{task.title}: {prop.title}",
                "number": f"{place}.{line}",
                "score": prop.points,
                "max_score": prop.max_points,
                "status": "passed" if prop.outcome is Outcome.PASSED else "failed",
                "output": _explained(prop),
                "tags": [task.id, str(prop.outcome)],
                "visibility": HIDDEN_UNTIL,
                "extra_data": {"id": prop.id, "misconception": prop.misconception},
            }


def _explained(prop: PropertyReport) -> str:
    """The hint, and what the simplest failing case says."""
    if prop.outcome is Outcome.PASSED:
        return ""
    case = prop.simplest_case
    return "\n".join(filter(None, [prop.hint, f"{case.id}: {case.message}" if case and case.message else ""]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), named("grader.assignment"), int(sys.argv[2])))
