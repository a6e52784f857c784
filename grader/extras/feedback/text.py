"""A short text in place of a page: the points earned, and the properties that failed."""

from __future__ import annotations

from collections.abc import Mapping

from grader.core.results.report import Report
from grader.core.rubric import Rubric

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "score": "Score {score:g} of {most:g}",
        "bonus": ", bonus {bonus:g} of {most:g}",
        "lost": "Not correct yet: {lost}",
        "all": "Everything is correct.",
        "page": "The attached page explains every lost point and names the section of the handout.",
        "unreadable": "Your submission could not be read, so it has no grade yet: {reason} Please contact us.",
        "grader_error": "Your submission could not be graded. This is not your fault, and you lose no points.",
        "subject": "Feedback: {title}",
        "hello": "Dear {name},",
        "between": "; ",
        "end": ".",
    },
    "zh": {
        "score": "得分 {score:g}/{most:g}",
        "bonus": "，附加分 {bonus:g}/{most:g}",
        "lost": "还不对的地方：{lost}",
        "all": "全部正确。",
        "page": "附上的页面解释了每一分，并指出讲义中的位置。",
        "unreadable": "你的提交无法读取，所以暂时没有成绩：{reason} 请与我们联系。",
        "grader_error": "你的提交没能评分，这不是你的问题，也不会扣你的分。",
        "subject": "反馈：{title}",
        "hello": "{name}，你好：",
        "between": "；",
        "end": "。",
    },
}


def comment(report: Report, rubric: Rubric, language: str) -> str:
    """The sentences, on one line.

    Args:
        report: In that language.
        rubric: Has the titles.
        language: ``en`` or ``zh``.
    """
    say, space = WORDS[language], " " if language == "en" else ""
    if report.score is None or report.bonus is None:
        return say[report.status].format(reason=report.reason or "")
    first = say["score"].format(score=report.score, most=report.max_score)
    if report.max_bonus:
        first += say["bonus"].format(bonus=report.bonus, most=report.max_bonus)
    lost = [
        rubric.properties[prop.id].title[language] if prop.id in rubric.properties else prop.title
        for task in report.tasks
        for prop in task.properties
        if prop.points < prop.max_points
    ]
    rest = say["lost"].format(lost=say["between"].join(lost)) + say["end"] if lost else say["all"]
    return space.join([first + say["end"], rest, say["page"]])


def subject(rubric: Rubric, language: str) -> str:
    """The subject of a mail."""
    return WORDS[language]["subject"].format(title=rubric.title[language])


def letter(name: str, text: str, language: str) -> str:
    """The text of a mail."""
    return f"{WORDS[language]['hello'].format(name=name)}\n\n{text}\n"
