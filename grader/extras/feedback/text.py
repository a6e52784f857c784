"""A short text in place of a page: the points earned, and the properties that failed."""

from __future__ import annotations

from functools import partial
from typing import Final

from grader.core import sentences
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.core.sentences import Sentences

WORDS: Final[Sentences] = {
    "score": ("Score {score:g} of {most:g}", "得分 {score:g}/{most:g}"),
    "bonus": (", bonus {bonus:g} of {most:g}", "，附加分 {bonus:g}/{most:g}"),
    "lost": ("Not correct yet: {lost}", "还不对的地方：{lost}"),
    "all": ("Everything is correct.", "全部正确。"),
    "page": (
        "The attached page explains every lost point and names the section of the handout.",
        "附上的页面解释了每一分，并指出讲义中的位置。",
    ),
    "unreadable": (
        "Your submission could not be read, so it has no grade yet: {reason} Please contact us.",
        "你的提交无法读取，所以暂时没有成绩：{reason} 请与我们联系。",
    ),
    "grader_error": (
        "Your submission could not be graded. This is not your fault, and you lose no points.",
        "你的提交没能评分，这不是你的问题，也不会扣你的分。",
    ),
    "subject": ("Feedback: {title}", "反馈：{title}"),
    "hello": ("Dear {name},", "{name}，你好："),
    "between": ("; ", "；"),
    "end": (".", "。"),
}


def comment(report: Report, rubric: Rubric, language: str) -> str:
    """The sentences, on one line.

    Args:
        report: In that language.
        rubric: Has the titles.
        language: ``en`` or ``zh``.
    """
    say, space = partial(sentences.say, WORDS, language), " " if language == "en" else ""
    if report.score is None or report.bonus is None:
        return say(report.status, reason=report.reason or "")
    first = say("score", score=report.score, most=report.max_score)
    if report.max_bonus:
        first += say("bonus", bonus=report.bonus, most=report.max_bonus)
    lost = [
        rubric.properties[prop.id].title[language] if prop.id in rubric.properties else prop.title
        for task in report.tasks
        for prop in task.properties
        if prop.points < prop.max_points
    ]
    rest = say("lost", lost=say("between").join(lost)) + say("end") if lost else say("all")
    return space.join([first + say("end"), rest, say("page")])


def subject(rubric: Rubric, language: str) -> str:
    """The subject of a mail."""
    return sentences.say(WORDS, language, "subject", title=rubric.title[language])


def letter(name: str, text: str, language: str) -> str:
    """The text of a mail."""
    return f"{sentences.say(WORDS, language, 'hello', name=name)}\n\n{text}\n"
