"""The words and sentences of a comparison of two gradings, in English and Chinese."""

from __future__ import annotations

from typing import Final

from grader.core.results.difference import Cause, Difference, GradeMove, Kind, PropertyChange, Reason
from grader.core.rubric import Rubric

WORDS: Final = {
    "title": {"en": "What changed between two gradings", "zh": "两次评分之间的变化"},
    "old": {"en": "before", "zh": "之前"},
    "new": {"en": "now", "zh": "现在"},
    "change": {"en": "change", "zh": "变化"},
    "submission": {"en": "submission", "zh": "提交"},
    "property": {"en": "property", "zh": "评分项"},
    "outcome": {"en": "outcome", "zh": "结果"},
    "points": {"en": "points", "zh": "得分"},
    "why": {"en": "why", "zh": "原因"},
    "nothing": {"en": "Nothing changed.", "zh": "没有变化。"},
    "same": {"en": "Unchanged: {n}.", "zh": "没有变化的提交：{n} 份。"},
    "by_property": {"en": "By property", "zh": "按评分项"},
    "by_submission": {"en": "By submission", "zh": "按提交"},
    "lost": {"en": "lost by", "zh": "失分人数"},
    "gained": {"en": "gained by", "zh": "得分人数"},
    "grade": {"en": "grade of {student}: {sides}", "zh": "{student} 的成绩：{sides}"},
    "reached": {"en": "reaches “{threshold}” ({least:g})", "zh": "达到“{threshold}”（{least:g}）"},
    "missed": {"en": "no longer reaches “{threshold}” ({least:g})", "zh": "不再达到“{threshold}”（{least:g}）"},
    "unknown": {
        "en": "Unknown until graded: {n}.",
        "zh": "尚未评分、结果未知的提交：{n} 份。",
    },
    "conditions": {
        "en": "Earlier results cannot tell, since these conditions changed: {names}. Grade without --dry-run.",
        "zh": "以下条件已改变，无法由之前的结果推知：{names}。请不带 --dry-run 重新评分。",
    },
    "dry_run": {"en": "Nothing was written.", "zh": "没有写入任何文件。"},
    "totals": {"en": "Points are the sum of score and bonus.", "zh": "分数为得分与附加分之和。"},
}
KINDS: Final = {
    Kind.DROP: {"en": "Fewer points", "zh": "分数下降"},
    Kind.GONE: {"en": "Only before", "zh": "仅在之前"},
    Kind.STATUS: {"en": "Not graded, with a new reason", "zh": "未评分，原因不同"},
    Kind.RISE: {"en": "More points", "zh": "分数上升"},
    Kind.DECIDED: {"en": "The same points, but different decisions", "zh": "分数不变，人工决定有变化"},
    Kind.MOVED: {"en": "The same points, but different properties", "zh": "总分不变，评分项有变化"},
    Kind.ADDED: {"en": "Only now", "zh": "仅在现在"},
}
CAUSES: Final = {
    Cause.FILES: {"en": "other files were submitted: {detail}", "zh": "提交的文件不同：{detail}"},
    Cause.TESTS: {
        "en": "the hidden tests or the reference changed: {detail}",
        "zh": "隐藏测试或参考实现有改动：{detail}",
    },
    Cause.RUBRIC: {"en": "the rubric changed: {detail}", "zh": "评分标准有改动：{detail}"},
    Cause.POINTS: {"en": "the property's points changed: {detail}", "zh": "分值有改动：{detail}"},
    Cause.SEED: {"en": "the seed changed: {detail}", "zh": "随机种子不同：{detail}"},
    Cause.DEVICES: {"en": "the devices changed: {detail}", "zh": "设备不同：{detail}"},
    Cause.ENVIRONMENT: {"en": "the environment changed: {detail}", "zh": "运行环境不同：{detail}"},
    Cause.GRADER: {"en": "the grader version changed: {detail}", "zh": "评分程序版本不同：{detail}"},
    Cause.COMMAND: {"en": "the command changed: {detail}", "zh": "命令不同：{detail}"},
    Cause.DECIDED: {"en": "decided: {detail}", "zh": "人工决定：{detail}"},
    Cause.WITHDRAWN: {"en": "decision withdrawn: {detail}", "zh": "人工决定已撤回：{detail}"},
    Cause.POLICY: {
        "en": "the same points give a different grade: [policy] or the submission time changed",
        "zh": "分数相同，成绩不同：由 [policy] 或提交时间引起",
    },
    Cause.UNKNOWN: {
        "en": "nothing that reports record: regrade both with --fresh, and check timings first",
        "zh": "报告中没有记录到任何差异：请用 --fresh 重新评分，并先检查运行时间",
    },
}
NONE: Final = "-"


def word(name: str, language: str, **values: object) -> str:
    """A word or a sentence in a language, with its values filled in."""
    return WORDS[name][language].format(**values)


def reasons(found: tuple[Reason, ...], language: str) -> list[str]:
    """The reasons, a sentence each."""
    return [CAUSES[reason.cause][language].format(detail=reason.detail) for reason in found]


def points(own: Difference) -> tuple[str, str]:
    """The points of a submission before and now, or its status if it has no points."""
    sides = (own.old, own.old_status), (own.new, own.new_status)
    before, after = (f"{value:g}" if value is not None else status or NONE for value, status in sides)
    return before, after


def grades(own: Difference, language: str) -> list[str]:
    """The grades that changed, a line each, where they are something else than the points or cross a threshold."""
    plain = {(own.old, own.new)}
    return [_grade(move, language) for move in own.grades if move.crossed or (move.old, move.new) not in plain]


def _grade(move: GradeMove, language: str) -> str:
    sides = arrow((_number(move.old), _number(move.new)))
    way = "reached" if (move.new or 0) > (move.old or 0) else "missed"
    crossed = [word(way, language, threshold=name, least=least) for name, least in move.crossed]
    return "; ".join([word("grade", language, student=move.student, sides=sides), *crossed])


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:g}"


def title(change: PropertyChange, rubric: Rubric, language: str) -> str:
    """The title of a property: from the rubric, or from the report where the rubric no longer has it."""
    known = rubric.properties.get(change.id)
    told = change.new or change.old
    return known.title[language] if known else told.title if told else change.id


def outcomes(change: PropertyChange) -> tuple[str, str]:
    """The outcome of a property before and now."""
    before, after = (str(side.outcome) if side else NONE for side in (change.old, change.new))
    return before, after


def worth(change: PropertyChange) -> tuple[str, str]:
    """The points of a property before and now, each with its maximum if that has changed."""
    sides = (change.old, change.new)
    changed = len({side.max_points for side in sides if side}) > 1
    before, after = (NONE if side is None else f"{side.points:g}" + f"/{side.max_points:g}" * changed for side in sides)
    return before, after


def arrow(sides: tuple[str, str]) -> str:
    """Both sides with an arrow between them; one alone if they are the same."""
    before, after = sides
    return before if before == after else f"{before} → {after}"
