"""Grades a folder of students' notebooks with nbgrader: feedback pages, a gradebook, and the result of each check.

nbgrader exports a 0 both for a check that failed and for one that never ran. Here only a check that failed has 0
points. The points of a check that never ran stay blank, and a person looks at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.core.export.table import number, written
from grader.core.intake.candidate import Candidate
from grader.core.intake.reading import unread
from grader.core.intake.reading_process import CPU_S, Reader
from grader.core.messages import UserError
from grader.core.results.files import write_text
from grader.core.results.outcome import Outcome
from grader.extras.formats.extension import NBGRADER

from . import course as courses
from . import sources, times
from .submissions import NotANotebook, discover, notebook, readied

COLUMNS = ("student_id", "notebook", "cell", "outcome", "points", "max_points", "message")
Say = Callable[[str], None]
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


def grade(folder: Path, out: Path, language: str = "en", say: Say = print, uncontained: bool = False) -> list[Check]:
    """Grade every student of a folder that holds a folder or zip for each, with notebooks anywhere in it.

    ``out`` becomes a course folder with ``feedback/``, ``grades.csv``, ``checks.csv`` and ``nbgrader.log``.
    ``uncontained`` lets students' code run without a container where there is none.

    Raises:
        UserError: If the folder holds no student, or this machine cannot make a container and ``uncontained`` is false.
        NbgraderFailed: If nbgrader refuses the source notebooks.
    """
    with Reader() as reader:
        students = discover(reader, folder)
        if not students:
            raise UserError(f"{folder}: no submission found. Expected a folder or a zip for each student.")
        if not uncontained and not courses.container(folder):
            raise UserError(
                "students' notebooks would run uncontained, with your account: no container can be created here. "
                "Install bubblewrap and allow user namespaces, or pass --uncontained for notebooks that you trust."
            )
        courses.prepare(language, out)
        checks: list[Check] = []
        scripts = sources.scripts()
        names = {f"{script.stem}.ipynb" for script in scripts}
        for nth, script in enumerate(scripts, 1):
            started, source = time.monotonic(), sources.read(script, language)
            given = frozenset(text for each in sources.LANGUAGES for text in sources.given(sources.read(script, each)))
            ready: list[str] = []
            for student, candidate in students.items():
                target = out / "submitted" / student / courses.HOMEWORK / f"{script.stem}.ipynb"
                why = _put(reader, candidate, target, source, given, names)
                if why is None:
                    ready.append(student)
                else:
                    missing = (why, None) if why else ("not submitted", 0.0)
                    checks += not_run(student, script.stem, source, *missing)
            if ready:
                _quietly(out, "autograde", courses.HOMEWORK, "--notebook", script.stem, contained=True)
            checks += [check for student in ready for check in read(out, student, script.stem, source)]
            say(
                f"[{nth}/{len(scripts)}] {script.stem}: {len(ready)} of {len(students)} students, "
                f"{time.monotonic() - started:.1f} s"
            )
    if (out / "autograded").exists():
        _quietly(out, "generate_feedback", courses.HOMEWORK, "--force")
    checks.sort(key=lambda check: (check.student, check.notebook))
    write(out, checks)
    return checks


def _put(
    reader: Reader,
    candidate: Candidate,
    target: Path,
    source: NotebookNode,
    given: Collection[str],
    names: Collection[str],
) -> str | None:
    """Give a student's notebook to nbgrader. If that fails, return why: an empty text if none was handed in."""
    try:
        found, data = reader.ask(CPU_S, notebook, candidate, target.name)
        if target.name not in found:
            strangers = sorted({*found} - set(names))
            return f"no {target.name}, but {', '.join(strangers)}: renamed?" if strangers else ""
        ready = readied(data, source, given)
    except NotANotebook as problem:
        return str(problem)
    except Exception as error:  # zipfile may raise any exception for a damaged or hostile file
        return str(unread(error))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(ready), encoding="utf-8")
    return None


def _quietly(out: Path, *arguments: str, contained: bool = False) -> None:
    """Run nbgrader and log a failure. If a student's notebook is the cause, that student's checks show it later."""
    try:
        courses.run(out, *arguments, contained=contained)
    except courses.NbgraderFailed as failure:
        with (out / courses.LOG).open("a", encoding="utf-8") as log:
            log.write(f"{failure}\n")


def write(out: Path, checks: Sequence[Check]) -> None:
    """Write ``checks.csv``, one line for each check, and ``grades.csv`` in the columns of nbgrader's own export.

    In ``grades.csv`` a student with a check that never ran has a blank score, so that no gradebook takes it for a zero.
    """
    lines = (
        (c.student, c.notebook, c.cell, str(c.outcome), number(c.points), number(c.max_points), c.message)
        for c in checks
    )
    write_text(out / "checks.csv", written([COLUMNS, *lines]))
    now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    rows = []
    for student in dict.fromkeys(check.student for check in checks):
        theirs = [check for check in checks if check.student == student]
        points = [check.points for check in theirs if check.points is not None]
        score = number(sum(points)) if len(points) == len(theirs) else ""
        most = number(sum(check.max_points for check in theirs))
        rows.append((courses.HOMEWORK, "", now, student, "", "", "", score, "0", score, most))
    write_text(out / "grades.csv", written([tuple(NBGRADER), *rows]))


def not_run(
    student: str,
    notebook: str,
    source: NotebookNode,
    why: str,
    points: float | None = None,
    outcome: Outcome = Outcome.MISSING,
) -> list[Check]:
    """The checks of a notebook that nbgrader did not run, all with the same ``points``; ``why`` is their message."""
    return [Check(student, notebook, cell, outcome, points, most, why) for cell, most in times.points(source).items()]


def read(course: Path, student: str, notebook: str, source: NotebookNode) -> Iterator[Check]:
    """The checks of a notebook after ``nbgrader autograde``."""
    from nbgrader.utils import determine_grade  # takes a second, and only grading needs it

    path = course / "autograded" / student / courses.HOMEWORK / f"{notebook}.ipynb"
    if not path.exists():  # nbgrader deletes a notebook that it could not run to the end
        why = "the kernel died or could not be stopped; nbgrader.log says when"
        yield from not_run(student, notebook, source, why, outcome=Outcome.CRASHED)
        return
    executed = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in nbformat.read(path, as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    for cell, points in times.points(source).items():
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
