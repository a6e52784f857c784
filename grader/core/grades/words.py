"""Decisions in words, in English and Chinese: for students without the name of whoever decided, for staff with it."""

from __future__ import annotations

from pathlib import Path

from grader.core.messages import ENDS
from grader.core.rubric import Rubric
from grader.core.sentences import Sentences

from .model import Decision, Ruling

say = Sentences(Path(__file__).with_name("words.toml"))


def sentence(own: Decision, rubric: Rubric, language: str) -> str:
    """What was decided and why, for the student."""
    what = _ended(_say(_key(own, rubric), language, own, rubric), language)
    return what + say(language, "why", why=_ended(own.why, language)) if own.why else what


def for_staff(ruling: Ruling, rubric: Rubric, language: str) -> str:
    """A decision in one line, with who decided when, and whether somebody should look at it again."""
    own = ruling.decision
    by = say(language, "by", who=own.who, when=own.when.date())
    again = say(language, "stale", stale=ruling.stale) if ruling.stale else ""
    return f"{' '.join(sentence(own, rubric, language).split())}{by}{again}"


def _ended(text: str, language: str) -> str:
    """The text as a sentence with its end."""
    return text if text.endswith(ENDS) else text + {"en": ".", "zh": "。"}[language]


def _key(own: Decision, rubric: Rubric) -> str:
    if own.override in rubric.properties or own.override in {task.id for task in rubric.tasks}:
        return "property"
    known = ("at" if own.at else "", own.attempt or "", own.override or "", own.what)
    return next((name for name in known if name in say.texts), "property")


def _say(name: str, language: str, own: Decision, rubric: Rubric) -> str:
    known = rubric.properties.get(own.override or "")
    task = next((task.title for task in rubric.tasks if task.id == own.override), own.override)
    path, _, file = (own.file or "").partition("=")
    return say(
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
