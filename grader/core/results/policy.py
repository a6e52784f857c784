"""Turns a score into a grade by the rubric's policy: late penalty and bonus cap. Reports ignore the policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.core.intake.origin import Origin
from grader.core.messages import Message, say
from grader.core.rubric import LatePenalty, Policy

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Grade:
    """What goes into a gradebook.

    Attributes:
        raw: Score and bonus as earned.
        penalty: Points taken off for lateness.
        points: The grade: the score and what counts of the bonus, less the penalty.
        remark: What the policy changed, in plain words; empty if nothing.
        days: Days of lateness that cost points.
    """

    raw: float
    penalty: float
    points: float
    remark: Message = Message()  # noqa: RUF009 - immutable
    days: int = 0


def grade(
    policy: Policy, score: float, bonus: float, origin: Origin | None, due: datetime | None = None, free_days: int = 0
) -> Grade:
    """Apply a policy to the points earned; a person may have granted a deadline of the student's own, and free days."""
    counted = bonus if policy.bonus_cap is None else min(bonus, policy.bonus_cap)
    days = days_late(policy, origin, due, free_days)
    share = min(1.0, policy.late_penalty.per_day * days + policy.late_penalty.flat * (days > 0))
    penalty = round(share * (score + counted), 2)
    late = say("{n} days late" if days > 1 else "{n} day late", n=days)
    if free_days:
        late = say("{late} beyond {n} free", late=late, n=free_days)
    if _over(policy, origin, due) is None:
        late = say("Late by an unknown time, counted as 1 day")
    taken = say("{late}: {share}, {points} points, deducted.", late=late, share=f"{share:.0%}", points=f"{penalty:g}")
    capped = say("Bonus points beyond the cap of {n} do not count.", n=f"{counted:g}")
    remark = Message().then(*[capped] * (counted < bonus), *[taken] * bool(share))
    return Grade(round(score + bonus, 2), penalty, round(score + counted - penalty, 2), remark, days)


def days_late(policy: Policy, origin: Origin | None, due: datetime | None = None, free_days: int = 0) -> int:
    """Days that cost points: those begun after the deadline, less the free ones; none within the minutes of grace.

    Where the platform says that a submission is late, but not by how much, one day counts as begun.
    """
    over = _over(policy, origin, due)
    if over is None:
        days = int(bool(origin and origin.late))
    else:
        days = max(0, math.ceil(over / DAY)) if over > timedelta(minutes=policy.grace_minutes) else 0
    return max(0, days - free_days)


def undated(policy: Policy, origin: Origin | None) -> bool:
    """Whether lateness costs points, but nothing tells whether this submission is late."""
    flagged = origin is not None and origin.late is not None
    return policy.late_penalty != LatePenalty() and not flagged and _over(policy, origin) is None


def extendable(policy: Policy, origin: Origin | None) -> bool:
    """Whether another deadline can be applied: not if the work is late and its submission time is unknown."""
    return origin is None or not origin.late or _moment(policy, origin) is not None


def _over(policy: Policy, origin: Origin | None, due: datetime | None = None) -> timedelta | None:
    """The time from the deadline to the submission; negative if it came before the deadline, None if it is unknown.

    What the platform says about lateness counts more than the deadline of the policy, and ``due``, the student's own
    deadline, more than both.
    """
    if origin is None:
        return None
    moment = _moment(policy, origin)
    if due is not None and moment is not None:
        return moment - due
    if origin.late_s is not None:
        return timedelta(seconds=origin.late_s)
    return moment - policy.due if policy.due is not None and moment is not None else None


def _moment(policy: Policy, origin: Origin) -> datetime | None:
    """When it was handed in, as far as the platform tells: the time itself, or the deadline plus how late it was."""
    if origin.submitted_at is not None:
        return datetime.fromisoformat(origin.submitted_at)
    if origin.late_s is None or policy.due is None:
        return None
    return policy.due + timedelta(seconds=origin.late_s)
