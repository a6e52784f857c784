"""Puts a report into the reader's language, with a hint for each property, and finds properties that failed alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from grader import PACKAGE
from grader.core.assignment import Assignment
from grader.core.messages import Message, Words, read_words, translated
from grader.core.rubric import Rubric
from grader.core.sentences import Sentences, say

from .outcome import Outcome
from .report import CaseReport, MessagePart, PropertyReport, Report, TaskReport, message_of

CHINESE = Path(__file__).with_name("chinese.toml")
CONSEQUENCE = "consequence"
# Hints for every outcome but ``passed`` and ``failed``, which is a wrong value.
ADVICE: Final[Sentences] = {
    Outcome.CRASHED: (
        "Your code raised an exception. The first case below names it and its line: fix that first.",
        "你的代码报错了。下面第一个用例给出了错误和所在行；请先解决它。",
    ),
    Outcome.TIMED_OUT: (
        "Your code exceeded the time limit. Look for an infinite loop.",
        "你的代码没有按时给出结果。检查是否有不会结束的循环。",
    ),
    Outcome.MEMORY_EXCEEDED: (
        "Your code used too much memory. Look for a tensor that is far larger than its inputs.",
        "你的代码占用了过多内存。检查是否有远大于输入的张量。",
    ),
    Outcome.NOT_IMPLEMENTED: ("This is still to be implemented (TODO).", "这里仍是 TODO。"),
    Outcome.MISSING: (
        "A file or a name was not found. Keep the names and places of the stubs.",
        "找不到文件或名称。请保留原来的文件位置和名称。",
    ),
    Outcome.INVALID_REPLY: (
        "Your code did not return a single dense tensor. Check the return statement.",
        "你的代码返回的不是一个普通的稠密张量。检查 return。",
    ),
    Outcome.INCONSISTENT: (
        "The same calls gave correct results in one process and wrong ones in another. Staff will review this.",
        "同样的调用，你的代码在一个进程中回答正确，在另一个进程中回答错误。会有人查看。",
    ),
    Outcome.NOT_ASSESSED: ("This could not be assessed on this machine.", "这一项无法在这台机器上评判。"),
    Outcome.GRADER_ERROR: (
        "The grader failed here. This is not your fault and costs you no points. The staff can see it.",
        "这里是评分程序出错，不是你的问题，也不会扣你的分。助教能看到。",
    ),
    # Around the hint of a property without a known mistake, if an earlier basic property of its task failed.
    CONSEQUENCE: (
        "This may follow from “{first}”: fix that first. If this is still wrong afterwards: {hint}",
        "这可能是“{first}”引起的，请先改好它。如果仍有问题：{hint}",
    ),
}


def in_language(report: Report, assignment: Assignment, language: str) -> Report:
    """The same report in another language.

    Properties and misconceptions that the rubric no longer has keep their words, and so do texts without parts, as
    reports before version 1.1 have them.
    """
    own = report.submission
    parts = [*own.notice_parts, *([] for _ in own.notices)]
    notices = [told(*pair, assignment, language) for pair in zip(own.notices, parts, strict=False)]
    words = {
        "tasks": [task_in_language(task, assignment, language) for task in report.tasks],
        "submission": own.model_copy(update={"notices": notices}),
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
        return say(ADVICE, language, prop.outcome)
    if prop.misconception:
        return rubric.misconception(prop.misconception).hint[language]
    hint = rubric.properties[prop.id].hint[language]
    if first := _first_failure(before, rubric):
        title = rubric.properties[first.id].title[language]
        hint = say(ADVICE, language, CONSEQUENCE, first=title, hint=hint)
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
    return in_words(message_of(parts), assignment, language) if parts else text


def in_words(message: str, assignment: Assignment, language: str) -> str:
    """A message in a language; any other text stays as it is."""
    if language == "en" or not isinstance(message, Message):
        return str(message)
    return translated(message, all_chinese(assignment))


def in_core_words(message: Message, language: str) -> str:
    """A message of the grader's own in a language."""
    return translated(message, core_chinese()) if language == "zh" else message


@cache
def core_chinese() -> Words:
    """The Chinese of the core's messages, from ``chinese.toml``."""
    return read_words(CHINESE)


@cache
def all_chinese(assignment: Assignment) -> Words:
    """The Chinese of all messages: of the core, of extras and of an assignment."""
    return read_words(*tables(assignment))


def tables(assignment: Assignment) -> list[Path]:
    """The files with the Chinese of messages, of which each extra has its own."""
    return [CHINESE, *sorted((PACKAGE / "extras").glob("*/chinese.toml")), assignment.folder / "chinese.toml"]


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
            ending = (prop.outcome, prop.hint, prop.evidence.message if prop.evidence else "")
            if (like := first.setdefault(ending, prop)) is not prop:
                found.setdefault(like.id, []).append(prop)
    return found
