"""A report in another language than it was written in, as far as somebody has translated what it says."""

from __future__ import annotations

from ..assignment import Rubric
from .advice import ADVICE
from .chinese import in_chinese
from .outcome import Outcome
from .report import CaseReport, PropertyReport, Report


def hint(rubric: Rubric, property_id: str, outcome: Outcome, misconception: str | None, language: str) -> str:
    """What to tell a student about a property: nothing if it holds, else what fits the outcome best."""
    if outcome is Outcome.PASSED:
        return ""
    if outcome is not Outcome.FAILED:
        return ADVICE[outcome][language]
    return (rubric.misconception(misconception) if misconception else rubric.properties[property_id]).hint[language]


def in_language(report: Report, rubric: Rubric, language: str) -> Report:
    """The same report with titles and hints of the rubric, and messages in Chinese if that is the language.

    What the rubric does not know any more keeps its words; so do messages that were written in Chinese.
    """
    tasks = [
        task.model_copy(update={"properties": [_property(prop, rubric, language) for prop in task.properties]})
        for task in report.tasks
    ]
    return report.model_copy(update={"tasks": tasks})


def _property(prop: PropertyReport, rubric: Rubric, language: str) -> PropertyReport:
    mistakes = {None, *(misconception.id for misconception in rubric.misconceptions)}
    if prop.id not in rubric.properties or prop.misconception not in mistakes:
        return prop
    words = {
        "title": rubric.properties[prop.id].title[language],
        "hint": hint(rubric, prop.id, prop.outcome, prop.misconception, language),
    }
    return prop.model_copy(update=words | {"cases": [_case(case, language) for case in prop.cases]})


def _case(case: CaseReport, language: str) -> CaseReport:
    if language != "zh" or not case.message:
        return case
    return case.model_copy(update={"message": in_chinese(case.message)})
