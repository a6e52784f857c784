"""``python -m grader.extras.gradescope.run ROOT`` grades one submission in Gradescope's container.

In ``ROOT`` Gradescope puts ``submission/`` with the student's files, ``submission_metadata.json``, and ``results/``,
where ``results.json`` is written even if grading fails.
"""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment, named
from grader.core.export.gradescope import failure, results
from grader.core.export.rows import Row
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Origin, Student, clean
from grader.core.intake.reader import Reader
from grader.core.results.policy import grade
from grader.core.results.report import Report, with_origin, write_json
from grader.core.run.executors import LocalExecutor
from grader.core.run.schedule import grade_all
from grader.core.settings import Settings


def main(root: Path, assignment: Assignment) -> int:
    """Grade the submission and write the results; the exit status is 3 if the grader failed."""
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    try:
        report = _graded(root, assignment)
    except Exception as error:
        write_json(folder / "results.json", failure(f"{type(error).__name__}: {error}"))
        return 3
    own = None
    if report.score is not None and report.bonus is not None:
        own = grade(assignment.rubric.policy, report.score, report.bonus, report.submission.origin)
    write_json(folder / "results.json", results(Row(report, Student(), own)))
    return 3 if report.status == "grader_error" else 0


def _graded(root: Path, assignment: Assignment) -> Report:
    with Reader() as reader:
        submission = reader.read(Candidate("submission", root / "submission", expected=assignment.rubric.expected))
    settings = Settings(assignment, command="run_autograder")
    with LocalExecutor(jobs=1) as executor, contextlib.closing(grade_all([submission], settings, executor)) as graded:
        return with_origin(next(graded), origin(root / "submission_metadata.json"))


def origin(path: Path) -> Origin | None:
    """The students and whether they are late, from Gradescope's metadata; None if it is missing or malformed."""
    try:
        data = json.loads(path.read_bytes())
        return Origin(
            source="gradescope",
            students=tuple(_student(user) for user in data.get("users", [])),
            late=datetime.fromisoformat(data["created_at"]) > datetime.fromisoformat(data["assignment"]["due_date"]),
            submitted_at=datetime.fromisoformat(data["created_at"]).isoformat(timespec="seconds"),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _student(user: dict[str, Any]) -> Student:
    return Student(id=clean(user.get("sid")), name=clean(user.get("name")), email=clean(user.get("email")))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), named("grader.assignment")))
