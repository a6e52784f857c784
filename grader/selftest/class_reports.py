"""A generated class of reports: every outcome, several people, two environments, and some work that was not graded."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from grader.core.grades.graded import StudentGrade
from grader.core.intake.origin import Origin, Student
from grader.core.judge.wording import PLACES
from grader.core.messages import as_data, quoted, say
from grader.core.pages.render import NOTHING, Pages
from grader.core.results.outcome import FRAME, RAISED, Outcome
from grader.core.results.report import (
    CaseReport,
    Environment,
    Practice,
    PropertyReport,
    Report,
    SubmissionInfo,
    TaskReport,
)
from grader.core.results.views import task_in_language
from grader.core.rubric import Property, Task
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import PROVENANCE as PROVENANCE
from grader.selftest.reports import known_class, report
from grader.selftest.reports import write as write

ENVIRONMENTS = (
    Environment(python="3", torch="2", devices=["cpu"], isolation="namespaces+landlock+seccomp"),
    Environment(python="3", torch="2", devices=["cpu", "cuda:0"], isolation="seccomp"),
)
OUTPUT = say("{dtype} output", dtype="float32")
HERE: dict[str, str | int] = {"path": "src/attention.py", "line": 54, "function": "forward", "code": "x.sofmax()"}
STUB = HERE | {"line": 34, "function": "__init__", "code": "raise NotImplementedError"}
MESSAGES = {
    Outcome.FAILED: say(PLACES, what=OUTPUT, shape=[2, 3], n=4, all=6, place=[0, 0]),
    Outcome.CRASHED: say(RAISED, exception="AttributeError", message="no attribute 'sofmax'").then(say(FRAME, **HERE)),
    Outcome.TIMED_OUT: say("no answer within {time} s", time=10),
    Outcome.NOT_IMPLEMENTED: quoted("Task 1: __init__").then(say(FRAME, **STUB)),
}
ENDINGS = [*Outcome][:-1] + 6 * [Outcome.FAILED]  # no grader error; wrong values as often as the rest


def graded(
    identifier: str,
    outcomes: Mapping[str, Outcome] | None = None,
    misconceptions: Mapping[str, str] | None = None,
    language: str = "en",
    origin: Origin | None = None,
    **fields: object,
) -> Report:
    """A report in which all properties of the rubric pass, except those that are named."""
    rubric = ASSIGNMENT.rubric
    tasks = [_task(task, outcomes or {}, misconceptions or {}, language) for task in rubric.tasks]
    bonus = {task.id for task in rubric.tasks if task.bonus}
    whole: dict[str, Any] = {
        "assignment": rubric.id,
        "submission": SubmissionInfo(id=identifier, sha256="0", files=[], origin=origin),
        "score": sum(task.score for task in tasks if task.id not in bonus),
        "max_score": rubric.max_score,
        "bonus": sum(task.score for task in tasks if task.id in bonus),
        "max_bonus": rubric.max_bonus,
        "tasks": tasks,
        "environment": ENVIRONMENTS[0],
    }
    return report(identifier, **(whole | fields))


def case(identifier: str, outcome: Outcome, message: str) -> CaseReport:
    """A case with a message and what that was made of."""
    return CaseReport(id=identifier, outcome=outcome, message=str(message), parts=as_data(message))


def ungraded(identifier: str, status: str, reason: str, origin: Origin | None = None) -> Report:
    """A report of a submission that was not graded."""
    nothing: dict[str, object] = {"status": status, "score": None, "bonus": None, "tasks": []}
    nothing |= {"reason": str(reason), "reason_parts": as_data(reason), "origin": origin}
    return graded(identifier, **nothing)  # type: ignore[arg-type] # fields replaced by name


def _task(task: Task, outcomes: Mapping[str, Outcome], misconceptions: Mapping[str, str], language: str) -> TaskReport:
    properties = [
        _property(prop, outcomes.get(prop.id, Outcome.PASSED), misconceptions.get(prop.id)) for prop in task.properties
    ]
    score = sum(prop.points for prop in properties)
    report = TaskReport(id=task.id, title=task.title, score=score, max_score=task.points, properties=properties)
    return task_in_language(report, ASSIGNMENT, language)


def _property(prop: Property, outcome: Outcome, misconception: str | None) -> PropertyReport:
    return PropertyReport(
        id=prop.id,
        title="",
        points=prop.points if outcome is Outcome.PASSED else 0,
        max_points=prop.points,
        outcome=outcome,
        misconception=misconception,
        cases=[case("some_case-cpu-float32", outcome, MESSAGES.get(outcome, ""))],
    )


def drawn(count: int) -> list[Report]:
    """So many reports, the same ones every time; every seventh is not graded."""
    rng = random.Random(5)
    return [_drawn(number, rng) for number in range(count)]


def _drawn(number: int, rng: random.Random) -> Report:
    identifier = f"student{number:02}"
    if number % 7 == 3:
        return ungraded(identifier, ("unreadable", "grader_error")[number % 2], f"reason {number}")
    rubric, skill = ASSIGNMENT.rubric, rng.random()
    lost = {name: rng.choice(ENDINGS) for name in rubric.properties if rng.random() > skill}
    held = {
        name: mistake.id
        for mistake in rubric.misconceptions
        for name in mistake.properties[:1]
        if lost.get(name) is Outcome.FAILED and rng.random() < 0.5
    }
    origin = Origin(source="canvas", students=(Student(id=str(number), name=f"Nguyễn {number}"),), late=number % 5 == 0)
    times = PROVENANCE.model_copy(update={"duration_s": round(rng.lognormvariate(1, 0.5), 3)})
    return graded(identifier, lost, held, origin=origin, provenance=times, environment=ENVIRONMENTS[number % 11 == 0])


class PlainPages(Pages):
    """Pages of students about whom nobody decided anything."""

    def student(
        self, report: Report, found: Sequence[StudentGrade] | None = None, beside: Mapping[str, Practice] = NOTHING
    ) -> str:
        """The page with the grades by the policy alone, unless others are given."""
        alone = known_class([report], self._rubric).grades[report.submission.id]
        return super().student(report, alone if found is None else found, beside)
