"""How late students were, by the status that Moodle's grading worksheet gives, where that is the roster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Student, absent
from grader.core.intake.roster import match, read_rows, student_of

STATUS = ("status", "状态")
SUBMITTED = ("Submitted for grading", "已提交")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
UNITS |= {"秒": 1, "分": 60, "小": 3600, "时": 3600, "天": 86400, "日": 86400, "年": 365 * 86400}
_SPAN = r"(?:\d+\s*[^\W\d]+\s*)+"
_LATE = re.compile(rf"(?P<en>{_SPAN})\blate\b|迟交?\s*(?P<zh>{_SPAN})")


def with_lateness(candidates: Iterable[Candidate], roster: Path) -> list[Candidate]:
    """The candidates, with lateness from a worksheet if no time is known; a group is as late as its latest member.

    Raises:
        UserError: If the roster cannot be read.
    """
    late_s = read_lateness(roster)
    everyone = [*late_s]

    def told(candidate: Candidate) -> Candidate:
        origin = candidate.origin
        if origin is None or origin.submitted_at or absent(origin):
            return candidate
        listed = filter(None, (match(student, everyone) for student in origin.students))
        seconds = max((late_s[student] for student in listed), default=None)
        if seconds is None:
            return candidate
        return replace(candidate, origin=origin.model_copy(update={"late": seconds > 0, "late_s": seconds}))

    return [told(candidate) for candidate in candidates]


def read_lateness(path: Path) -> dict[Student, float]:
    """Seconds that each student was late, if the roster is a grading worksheet of Moodle that says so.

    A student whose status is in unknown words is left out, rather than taken to be in time.

    Raises:
        UserError: If it cannot be read.
    """
    known = {}
    for _, row in read_rows(path):
        status = next((row[column] for column in STATUS if row.get(column)), "")
        if (late := _late_s(status)) is not None:
            known[student_of(row)] = late
    return known


def _late_s(status: str) -> float | None:
    """The seconds in a status like "Submitted for grading - 1 day 3 hours late"; None if the status does not tell."""
    if found := _LATE.search(status):
        spans = re.findall(r"(\d+)\s*([^\W\d])", found["en"] or found["zh"])
        return float(sum(int(count) * UNITS.get(unit, 0) for count, unit in spans))
    return 0.0 if any(word in status for word in SUBMITTED) and not re.search(r"\d", status) else None
