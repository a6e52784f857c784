"""A report in another language than it was written in, as far as somebody has translated what it says."""

from __future__ import annotations

from ..assignment import Rubric
from .advice import ADVICE
from .chinese import in_chinese
from .outcome import Outcome
from .report import PropertyReport, Report


def hint(rubric: Rubric, property_id: str, outcome: Outcome, misconception: str | None, language: str) -> str:
    """What to tell a student about a property: nothing if it holds, else what fits the outcome best."""
    if outcome is Outcome.PASSED:
        return ""
    if outcome is not Outcome.FAILED:
        return ADVICE[outcome][language]
    return (rubric.misconception(misconception) if misconception else rubric.properties[property_id]).hint[language]


def in_language(report: Report, rubric: Rubric, language: str) -> Report:
    """The same report with titles and hints of the rubric, and messages in Chinese if that is the language.

    What the rubric does not know any more keeps its words; so do messages that were once written in Chinese.
    """
    tasks = [
        task.model_copy(update={"properties": [_property(prop, rubric, language) for prop in task.properties]})
        for task in report.tasks
    ]
    submission = report.submission.model_copy(
        update={"notices": [_message(notice, language) for notice in report.submission.notices]}
    )
    reason = _message(report.reason, language) if report.reason else None
    return report.model_copy(update={"tasks": tasks, "submission": submission, "reason": reason})


def _property(prop: PropertyReport, rubric: Rubric, language: str) -> PropertyReport:
    mistakes = {None, *(misconception.id for misconception in rubric.misconceptions)}
    if prop.id not in rubric.properties or prop.misconception not in mistakes:
        return prop
    words = {
        "title": rubric.properties[prop.id].title[language],
        "hint": hint(rubric, prop.id, prop.outcome, prop.misconception, language),
    }
    cases = [case.model_copy(update={"message": _message(case.message, language)}) for case in prop.cases]
    return prop.model_copy(update=words | {"cases": cases})


def _message(text: str, language: str) -> str:
    return in_chinese(text) if text and language == "zh" else text
