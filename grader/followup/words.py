"""The words and sentences of a comparison of two gradings, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from grader.core.rubric import Rubric
from grader.core.sentences import Sentences, say

from .difference import Cause, Difference, GradeMove, Kind, PropertyChange, Reason

WORDS: Final[Sentences] = {
    "tally": ("{title}: lost by {lost}, gained by {gained}", "{title}：失分 {lost} 人，得分 {gained} 人"),
    "nothing": ("Nothing changed.", "没有变化。"),
    "same": ("Unchanged: {n}.", "没有变化的提交：{n} 份。"),
    "grade": ("grade of {student}: {sides}", "{student} 的成绩：{sides}"),
    "reached": ("reaches “{threshold}” ({least:g})", "达到“{threshold}”（{least:g}）"),
    "missed": ("no longer reaches “{threshold}” ({least:g})", "不再达到“{threshold}”（{least:g}）"),
    "unknown": ("Unknown until graded: {n}.", "尚未评分、结果未知的提交：{n} 份。"),
    "conditions": (
        "Unknown, because these conditions changed since the earlier results: {names}. Grade without --dry-run.",
        "以下条件已改变，无法由之前的结果推知：{names}。请不带 --dry-run 重新评分。",
    ),
    "dry_run": ("Nothing was written.", "没有写入任何文件。"),
}
KINDS: Final[Sentences] = {
    Kind.DROP: ("Fewer points", "分数下降"),
    Kind.GONE: ("Only in the earlier grading", "仅在之前"),
    Kind.STATUS: ("Not graded, with a new reason", "未评分，原因不同"),
    Kind.RISE: ("More points", "分数上升"),
    Kind.DECIDED: ("The same points, but different decisions", "分数不变，人工决定有变化"),
    Kind.MOVED: ("The same points, but different properties", "总分不变，评分项有变化"),
    Kind.ADDED: ("Only in the later grading", "仅在现在"),
}
CAUSES: Final[Sentences] = {
    Cause.FILES: ("other files were submitted: {detail}", "提交的文件不同：{detail}"),
    Cause.TESTS: (
        "the hidden tests, the reference or the grader's code changed: {detail}",
        "隐藏测试、参考实现或评分程序的代码有改动：{detail}",
    ),
    Cause.RUBRIC: ("the rubric changed: {detail}", "评分标准有改动：{detail}"),
    Cause.POINTS: ("the property's points changed: {detail}", "分值有改动：{detail}"),
    Cause.SEED: ("the seed changed: {detail}", "随机种子不同：{detail}"),
    Cause.DEVICES: ("the devices changed: {detail}", "设备不同：{detail}"),
    Cause.ENVIRONMENT: ("the environment changed: {detail}", "运行环境不同：{detail}"),
    Cause.GRADER: ("the grader version changed: {detail}", "评分程序版本不同：{detail}"),
    Cause.COMMAND: ("the command changed: {detail}", "命令不同：{detail}"),
    Cause.DECIDED: ("decided: {detail}", "人工决定：{detail}"),
    Cause.WITHDRAWN: ("decision withdrawn: {detail}", "人工决定已撤回：{detail}"),
    Cause.POLICY: (
        "the same points give a different grade: [policy] or the submission time changed",
        "分数相同，成绩不同：由 [policy] 或提交时间引起",
    ),
    Cause.UNKNOWN: (
        "no recorded condition differs: compare the timings, then regrade both with --fresh",
        "报告中没有记录到任何差异：请用 --fresh 重新评分，并先检查运行时间",
    ),
}
NONE: Final = "-"
word, kind = partial(say, WORDS), partial(say, KINDS)


def reasons(found: tuple[Reason, ...], language: str) -> list[str]:
    """The reasons, a sentence each."""
    return [say(CAUSES, language, reason.cause, detail=reason.detail) for reason in found]


def points(own: Difference) -> str:
    """The points of a submission before and now, or its status if it has no points."""
    sides = (own.old, own.old_status), (own.new, own.new_status)
    return _arrow(f"{value:g}" if value is not None else status or NONE for value, status in sides)


def grades(own: Difference, language: str) -> list[str]:
    """The grades that changed, a line each, where they are something else than the points or cross a threshold."""
    plain = {(own.old, own.new)}
    return [_grade(move, language) for move in own.grades if move.crossed or (move.old, move.new) not in plain]


def _grade(move: GradeMove, language: str) -> str:
    sides = _arrow(NONE if side is None else f"{side:g}" for side in (move.old, move.new))
    way = "reached" if (move.new or 0) > (move.old or 0) else "missed"
    crossed = [word(language, way, threshold=name, least=least) for name, least in move.crossed]
    return "; ".join([word(language, "grade", student=move.student, sides=sides), *crossed])


def title(change: PropertyChange, rubric: Rubric, language: str) -> str:
    """The title of a property: from the rubric, or from the report where the rubric no longer has it."""
    known = rubric.properties.get(change.id)
    told = change.new or change.old
    return known.title[language] if known else told.title if told else change.id


def outcomes(change: PropertyChange) -> str:
    """The outcome of a property before and now."""
    return _arrow(str(side.outcome) if side else NONE for side in (change.old, change.new))


def worth(change: PropertyChange) -> str:
    """The points of a property before and now, each with its maximum if that has changed."""
    sides = (change.old, change.new)
    changed = len({side.max_points for side in sides if side}) > 1
    return _arrow(NONE if side is None else f"{side.points:g}" + f"/{side.max_points:g}" * changed for side in sides)


def _arrow(sides: Iterable[str]) -> str:
    """Both sides with an arrow between them; one alone if they are the same."""
    before, after = sides
    return before if before == after else f"{before} → {after}"
