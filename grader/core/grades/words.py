"""Decisions in words, in English and Chinese: for students without the name of whoever decided, for staff with it."""

from __future__ import annotations

from typing import Final

from grader.core.rubric import Rubric
from grader.core.sentences import Sentences, say

from .model import BEST, LAST, Decision, Ruling

WORDS: Final[Sentences] = {
    "property": ("“{title}”: {points:g} points.", "“{title}”：{points:g} 分。"),
    "score": ("The score is {points:g}.", "得分定为 {points:g}。"),
    "bonus": ("The bonus is {points:g}.", "附加分定为 {points:g}。"),
    "comment": ("{own.comment}", "{own.comment}"),
    "at": ("{own.at}: {own.comment}", "{own.at}：{own.comment}"),
    "file": ("“{name}” was graded as {path}.", "“{name}”作为 {path} 评分。"),
    "due": ("The deadline is {due}.", "截止时间为 {due}。"),
    "late_days": ("Late days without penalty: {own.late_days}.", "免于扣分的迟交天数：{own.late_days}。"),
    "excuse": ("Excused: no grade, and no penalty.", "已获免除：不计成绩，也不扣分。"),
    "attempt": ("The submission that counts: {own.attempt}.", "计入成绩的提交：{own.attempt}。"),
    LAST: ("Of several submissions, the last one counts.", "多次提交中，以最后一次为准。"),
    BEST: ("Of several submissions, the best one counts.", "多次提交中，以最好的一次为准。"),
    "team": ("Team submission, shared with {names}.", "团队提交，同时也是 {names} 的提交。"),
    "appeal": ("Appeal: {own.appeal}", "请求复核：{own.appeal}"),
    "seen": ("Reviewed and left unchanged: {reasons}.", "已查看，维持原结果：{reasons}。"),
    "why": (" Reason: {why}", "理由：{why}"),
    "by": (" ({who}, {when})", "（{who}，{when}）"),
    "stale": (" Needs another look: {stale}.", " 请再看一遍：{stale}。"),
}


def sentence(own: Decision, rubric: Rubric, language: str) -> str:
    """What was decided and why, for the student."""
    what = _ended(_say(_key(own, rubric), language, own, rubric), language)
    return what + say(WORDS, language, "why", why=_ended(own.why, language)) if own.why else what


def for_staff(ruling: Ruling, rubric: Rubric, language: str) -> str:
    """A decision in one line, with who decided when, and whether somebody should look at it again."""
    own = ruling.decision
    by = say(WORDS, language, "by", who=own.who, when=own.when.date())
    again = say(WORDS, language, "stale", stale=ruling.stale) if ruling.stale else ""
    return f"{' '.join(sentence(own, rubric, language).split())}{by}{again}"


def _ended(text: str, language: str) -> str:
    """The text as a sentence with its end."""
    return text if text.endswith((".", "!", "?", "。", "！", "？")) else text + {"en": ".", "zh": "。"}[language]


def _key(own: Decision, rubric: Rubric) -> str:
    if own.override in rubric.properties or own.override in {task.id for task in rubric.tasks}:
        return "property"
    known = ("at" if own.at else "", own.attempt or "", own.override or "", own.what)
    return next((name for name in known if name in WORDS), "property")


def _say(name: str, language: str, own: Decision, rubric: Rubric) -> str:
    known = rubric.properties.get(own.override or "")
    task = next((task.title for task in rubric.tasks if task.id == own.override), own.override)
    path, _, file = (own.file or "").partition("=")
    return say(
        WORDS,
        language,
        name,
        own=own,
        points=own.points or 0,
        path=path,
        name=file,
        title=known.title[language] if known else task,
        due=own.due.isoformat(sep=" ", timespec="minutes") if own.due else "",
        names=", ".join(own.team or ()),
        reasons=", ".join(own.seen or ()) or "–",
    )
