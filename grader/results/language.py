"""A report in a language: titles and hints of the rubric, and messages as far as somebody has translated them."""

from __future__ import annotations

from collections.abc import Sequence

from ..assignment import Rubric
from .advice import ADVICE, CONSEQUENCE
from .chinese import in_chinese
from .outcome import Outcome
from .report import PropertyReport, Report, TaskReport


def in_language(report: Report, rubric: Rubric, language: str) -> Report:
    """The same report in another language.

    What the rubric does not know any more keeps its words; so do messages that were once written in Chinese.
    """
    notices = [_message(notice, language) for notice in report.submission.notices]
    words = {
        "tasks": [task_in_language(task, rubric, language) for task in report.tasks],
        "submission": report.submission.model_copy(update={"notices": notices}),
        "reason": _message(report.reason, language) if report.reason else None,
    }
    return report.model_copy(update=words)


def task_in_language(task: TaskReport, rubric: Rubric, language: str) -> TaskReport:
    """The same for one task."""
    mistakes = {None, *(misconception.id for misconception in rubric.misconceptions)}
    properties = []
    for number, prop in enumerate(task.properties):
        words: dict[str, object] = {
            "cases": [case.model_copy(update={"message": _message(case.message, language)}) for case in prop.cases]
        }
        if prop.id in rubric.properties and prop.misconception in mistakes:
            words["title"] = rubric.properties[prop.id].title[language]
            words["hint"] = _hint(prop, task.properties[:number], rubric, language)
        properties.append(prop.model_copy(update=words))
    return task.model_copy(update={"properties": properties})


def _hint(prop: PropertyReport, before: Sequence[PropertyReport], rubric: Rubric, language: str) -> str:
    """What to tell a student about a property: nothing if it holds, else what fits the outcome best."""
    if prop.outcome is Outcome.PASSED:
        return ""
    if prop.outcome is not Outcome.FAILED:
        return ADVICE[prop.outcome][language]
    if prop.misconception:
        return rubric.misconception(prop.misconception).hint[language]
    hint = rubric.properties[prop.id].hint[language]
    if first := _first_failure(before, rubric):
        hint = CONSEQUENCE[language].format(first=rubric.properties[first.id].title[language], hint=hint)
    return hint


def _first_failure(before: Sequence[PropertyReport], rubric: Rubric) -> PropertyReport | None:
    """What a failed property may follow from: an earlier basic one, better with a known mistake than without."""
    failed = [
        other
        for other in before
        if other.outcome in (Outcome.FAILED, Outcome.CRASHED)
        and other.id in rubric.properties
        and rubric.properties[other.id].basic
    ]
    return max(failed, key=lambda other: bool(other.misconception), default=None)


def _message(text: str, language: str) -> str:
    return in_chinese(text) if text and language == "zh" else text
