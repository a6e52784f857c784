"""``python -m grader.autograder ROOT`` grades what a student handed in to Gradescope, one submission in a container.

``ROOT`` is laid out as Gradescope does it: ``submission/`` with the student's files, ``submission_metadata.json``, and
``results/``, where ``results.json`` is written whatever happens.
"""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from .assignment import load_rubric
from .executors.local import LocalExecutor
from .export.gradescope import failure, results
from .export.rows import Row
from .intake.candidate import Candidate
from .intake.origin import Origin, Student, clean
from .results.policy import grade
from .results.report import Report, with_origin, write_json
from .schedule import grade_all
from .settings import Settings


def main(root: Path) -> int:
    """Grade, and write the results; 3 if it was the grader that failed."""
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    try:
        report = _graded(root)
    except Exception as error:
        write_json(folder / "results.json", failure(f"{type(error).__name__}: {error}"))
        return 3
    own = None
    if report.score is not None and report.bonus is not None:
        own = grade(load_rubric().policy, report.score, report.bonus, report.submission.origin)
    write_json(folder / "results.json", results(Row(report, Student(), own)))
    return 3 if report.status == "grader_error" else 0


def _graded(root: Path) -> Report:
    submission, settings = Candidate("submission", root / "submission").read(), Settings(command="run_autograder")
    with LocalExecutor(jobs=1) as executor, contextlib.closing(grade_all([submission], settings, executor)) as graded:
        return with_origin(next(graded), origin(root / "submission_metadata.json"))


def origin(path: Path) -> Origin | None:
    """Whose it is, and whether it is late, from Gradescope's own file; None if that is not there or something else."""
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
    sys.exit(main(Path(sys.argv[1])))
