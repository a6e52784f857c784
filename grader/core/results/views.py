"""Views of a report: its outcomes stay, points and words change, and nothing is run.

Points are those of the present rubric. Words are in the reader's language, with a hint for each property; properties
that failed alike are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grader import PACKAGE
from grader.core.assignment import Assignment
from grader.core.messages import Message, MessagePart, Sentences, Words, from_data, read_words, translated
from grader.core.rubric import Rubric

from .outcome import ALSO, APART, Outcome
from .report import CaseReport, PropertyReport, Report, TaskReport

CHINESE = Path(__file__).with_name("chinese.toml")
CONSEQUENCE = "consequence"  # around a hint without a known mistake, if an earlier basic property of the task failed
ADVICE = Sentences(Path(__file__).with_name("words.toml"))  # for every outcome but passed and failed, a wrong value


def in_language(report: Report, assignment: Assignment, language: str) -> Report:
    """The same report in another language.

    Properties and misconceptions that the rubric no longer has keep their words, and so do texts without parts, as
    reports before version 1.1 have them.
    """
    submission = report.submission
    parts = [*submission.notice_parts, *([] for _ in submission.notices)]
    notices = [told(*pair, assignment, language) for pair in zip(submission.notices, parts, strict=False)]
    words = {
        "tasks": [task_in_language(task, assignment, language) for task in report.tasks],
        "submission": submission.model_copy(update={"notices": notices}),
        "reason": told(report.reason, report.reason_parts, assignment, language) if report.reason else None,
    }
    return report.model_copy(update=words)


def task_in_language(task: TaskReport, assignment: Assignment, language: str) -> TaskReport:
    """The same task in another language."""
    rubric = assignment.rubric
    mistakes = {None, *(misconception.id for misconception in rubric.misconceptions)}
    properties = []
    for number, prop in enumerate(task.properties):
        words: dict[str, object] = {"cases": [_case_in_language(case, assignment, language) for case in prop.cases]}
        if prop.id in rubric.properties and prop.misconception in mistakes:
            words["title"] = rubric.properties[prop.id].title[language]
            words["hint"] = _hint(prop, task.properties[:number], rubric, language)
        properties.append(prop.model_copy(update=words))
    return task.model_copy(update={"properties": properties})


def _hint(prop: PropertyReport, before: Sequence[PropertyReport], rubric: Rubric, language: str) -> str:
    """The hint for a property: empty if it passed, else the most specific one for its outcome."""
    if prop.outcome is Outcome.PASSED:
        return ""
    if prop.outcome is not Outcome.FAILED:
        return ADVICE(language, prop.outcome)
    if prop.misconception:
        return rubric.misconception(prop.misconception).hint[language]
    hint = rubric.properties[prop.id].hint[language]
    if first := _first_failure(before, rubric):
        title = rubric.properties[first.id].title[language]
        hint = ADVICE(language, CONSEQUENCE, first=title, hint=hint)
    return hint


def _first_failure(before: Sequence[PropertyReport], rubric: Rubric) -> PropertyReport | None:
    """The earlier basic property whose failure may be the cause; one with a known mistake is preferred."""
    failed = [
        other
        for other in before
        if other.outcome in (Outcome.FAILED, Outcome.CRASHED)
        and other.id in rubric.properties
        and rubric.properties[other.id].basic
    ]
    return max(failed, key=lambda other: bool(other.misconception), default=None)


def _case_in_language(case: CaseReport, assignment: Assignment, language: str) -> CaseReport:
    message = told(case.message, case.parts, assignment, language)
    return case if message == case.message else case.model_copy(update={"message": message})


def told(text: str, parts: Sequence[MessagePart], assignment: Assignment, language: str) -> str:
    """A text in a language, made from its parts; the text as it is, if it has none."""
    return in_words(from_data(parts), assignment, language) if parts else text


def in_words(message: str, assignment: Assignment | None, language: str) -> str:
    """A message in a language, None for a message of the core's own; any other text stays as it is."""
    if language == "en" or not isinstance(message, Message):
        return str(message)
    return translated(message, chinese_words(assignment))


@cache
def chinese_words(assignment: Assignment | None) -> Words:
    """The Chinese of the core's messages, and, with an assignment, of those of extras and of the assignment."""
    return read_words(*tables(assignment) if assignment else [CHINESE])


def tables(assignment: Assignment) -> list[Path]:
    """The files with the Chinese of messages, of which each extra has its own."""
    return [CHINESE, *sorted((PACKAGE / "extras").glob("*/chinese.toml")), assignment.folder / "chinese.toml"]


def _what_happened(case: CaseReport) -> str:
    """A case's message without the conditions under which it fails, which depend on a property's cases."""
    return str(
        from_data([part for part in case.parts if part["key"] not in (APART, ALSO.parts[0].key)]) or case.message
    )


def repeats(report: Report) -> dict[str, list[PropertyReport]]:
    """From the id of a property to later ones of its task that ended in the same way, such as with the same exception.

    Wrong values never count as the same way, since each property has a hint of its own for them.
    """
    found: dict[str, list[PropertyReport]] = {}
    for task in report.tasks:
        first: dict[tuple[str, ...], PropertyReport] = {}
        for prop in task.properties:
            if prop.outcome in (Outcome.PASSED, Outcome.FAILED):
                continue
            ending = (prop.outcome, prop.hint, _what_happened(prop.evidence) if prop.evidence else "")
            if (like := first.setdefault(ending, prop)) is not prop:
                found.setdefault(like.id, []).append(prop)
    return found


def viewed(report: Report, assignment: Assignment, only: str | None) -> Report:
    """The same outcomes with the points and the English words of the present rubric.

    The report is in English, as a judge or an earlier run made it; ``only`` is the one task that was graded. What the
    rubric no longer has keeps its points and its words.
    """
    rubric = assignment.rubric.only(only)
    tasks = [summed(task, [_worth(prop, rubric) for prop in task.properties]) for task in report.tasks]
    now = report.model_copy(
        update={
            "tasks": tasks,
            **(totals(tasks, rubric) if report.status == "graded" else {}),
            "max_score": rubric.max_score,
            "max_bonus": rubric.max_bonus,
            "provenance": report.provenance.model_copy(update={"rubric_sha256": rubric.sha256}),
        }
    )
    return in_language(now, assignment, "en")


def totals(tasks: Sequence[TaskReport], rubric: Rubric) -> dict[str, float]:
    """The score and the bonus of tasks."""
    bonus = {task.id for task in rubric.tasks if task.bonus}
    return {
        "score": sum(task.score for task in tasks if task.id not in bonus),
        "bonus": sum(task.score for task in tasks if task.id in bonus),
    }


def summed(task: TaskReport, properties: list[PropertyReport]) -> TaskReport:
    """The task with these properties, and their points added up."""
    sums = {
        "properties": properties,
        "score": sum(prop.points for prop in properties),
        "max_score": sum(prop.max_points for prop in properties),
    }
    return task.model_copy(update=sums)


def _worth(prop: PropertyReport, rubric: Rubric) -> PropertyReport:
    known = rubric.properties.get(prop.id)
    if known is None:
        return prop
    points = known.points if prop.outcome is Outcome.PASSED else 0.0
    return prop.model_copy(update={"points": points, "max_points": known.points})
