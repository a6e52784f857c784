"""Finds the result of each checking cell in the notebook that nbgrader has executed.

nbgrader exports a 0 both for a check that failed and for one that never ran. Here only a check that failed has 0
points. The points of a check that never ran stay blank, and a person looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.core.results.outcome import Outcome

from .course import HOMEWORK

RAISED = {
    "AssertionError": Outcome.FAILED,
    "NotImplementedError": Outcome.NOT_IMPLEMENTED,
    "KeyboardInterrupt": Outcome.TIMED_OUT,  # nbgrader interrupts a cell at its time limit
}
TOO_LONG = "took too long: interrupted at the time limit of a cell; perhaps an endless loop"


@dataclass(frozen=True)
class Check:
    """One checking cell of one student.

    Attributes:
        points: The points earned; None if the check did not run although something was handed in.
        message: The exception that the cell raised, that it took too long, or why the check did not run.
    """

    student: str
    notebook: str
    cell: str
    outcome: Outcome
    points: float | None
    max_points: float
    message: str = ""


def graded(source: NotebookNode) -> dict[str, float]:
    """The points of a notebook's checking cells, by ``grade_id``."""
    marks = [cell.metadata.get("nbgrader", {}) for cell in source.cells]
    return {mark["grade_id"]: float(mark["points"]) for mark in marks if mark.get("grade")}


def not_run(
    student: str,
    notebook: str,
    source: NotebookNode,
    why: str,
    points: float | None = None,
    outcome: Outcome = Outcome.MISSING,
) -> list[Check]:
    """The checks of a notebook that nbgrader did not run, all with the same ``points``; ``why`` is their message."""
    return [Check(student, notebook, cell, outcome, points, most, why) for cell, most in graded(source).items()]


def read(course: Path, student: str, notebook: str, source: NotebookNode) -> Iterator[Check]:
    """The checks of a notebook after ``nbgrader autograde``."""
    from nbgrader.utils import determine_grade  # takes a second, and only grading needs it

    path = course / "autograded" / student / HOMEWORK / f"{notebook}.ipynb"
    if not path.exists():  # nbgrader deletes a notebook that it could not run to the end
        why = "the kernel died or could not be stopped; nbgrader.log says when"
        yield from not_run(student, notebook, source, why, outcome=Outcome.CRASHED)
        return
    executed = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in nbformat.read(path, as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    for cell, points in graded(source).items():
        if cell not in executed:
            yield Check(student, notebook, cell, Outcome.MISSING, None, points, "the checking cell was deleted")
        elif (score := determine_grade(executed[cell])[0]) == points:
            yield Check(student, notebook, cell, Outcome.PASSED, score, points)
        else:
            outcome, message = _failure(executed[cell])
            yield Check(student, notebook, cell, outcome, score, points, message)


def _failure(cell: NotebookNode) -> tuple[Outcome, str]:
    for output in cell.outputs:
        if output.output_type == "error":
            if RAISED.get(output.ename) is Outcome.TIMED_OUT:
                return Outcome.TIMED_OUT, TOO_LONG
            said = f": {output.evalue.splitlines()[0]}" if output.evalue else ""
            return RAISED.get(output.ename, Outcome.CRASHED), f"{output.ename}{said}"[:300]
    return Outcome.FAILED, "the cell wrote to stderr" if cell.outputs else ""
