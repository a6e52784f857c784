"""Who handed in what: names from the roster, one submission for each student, and who handed in nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..messages import say
from .candidate import Candidate, safe_id
from .origin import Origin, Student, clean
from .roster import match, merged, owner


def with_roster(candidates: Iterable[Candidate], roster: Sequence[Student]) -> list[Candidate]:
    """The candidates with their students' names and ids from the roster, and one for everyone who handed in nothing."""
    named: list[Candidate] = []
    present: set[Student] = set()
    for candidate in candidates:
        origin = candidate.origin or _by_name(candidate)
        whose = [_listed(student, origin, roster) for student in origin.students]
        present.update(listed for listed in whose if listed)
        if not any(whose):
            remark = say("Nobody in the roster goes with this submission.")
            named.append(replace(candidate, notices=(*candidate.notices, remark)))
            continue
        guessed = origin.source in ("folders", "clones")
        students = [
            merged(student, listed, guessed) if listed else student
            for student, listed in zip(origin.students, whose, strict=True)
        ]
        named.append(replace(candidate, origin=origin.model_copy(update={"students": tuple(students)})))
    return named + [_absent(student) for student in roster if student not in present]


def with_lateness(candidates: Iterable[Candidate], late_s: Mapping[Student, float]) -> list[Candidate]:
    """The candidates, with lateness from a worksheet if no time is known; a group is as late as its latest member."""
    everyone = [*late_s]

    def told(candidate: Candidate) -> Candidate:
        origin = candidate.origin
        if origin is None or origin.submitted_at or origin.source == "roster":
            return candidate
        listed = filter(None, (match(student, everyone) for student in origin.students))
        seconds = max((late_s[student] for student in listed), default=None)
        if seconds is None:
            return candidate
        return replace(candidate, origin=origin.model_copy(update={"late": seconds > 0, "late_s": seconds}))

    return [told(candidate) for candidate in candidates]


def latest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep only the last of several submissions of the same students, if the platform tells when each was handed in."""
    kept: dict[object, Candidate] = {}
    for number, candidate in enumerate(candidates):
        origin = candidate.origin
        timed = origin is not None and origin.students and origin.submitted_at
        key: object = frozenset(origin.students) if origin and timed else number
        before = kept.get(key)
        if before is None:
            kept[key] = candidate
            continue
        older, newer = sorted((before, candidate), key=_moment)
        earlier = say("{called} of the same students was handed in earlier", called=older.id)
        remark = earlier.then(say("it is left out."))
        kept[key] = replace(newer, notices=(*newer.notices, remark))
    return [*kept.values()]


def _moment(candidate: Candidate) -> datetime:
    return datetime.fromisoformat(candidate.origin.submitted_at or "") if candidate.origin else datetime.min


def _by_name(candidate: Candidate) -> Origin:
    """The origin of a folder or zip that carries its student's name."""
    name = clean(candidate.called)
    return Origin(source="folders", students=(Student(id=name, name=name.replace("_", " ")),))


def _listed(student: Student, origin: Origin, roster: Sequence[Student]) -> Student | None:
    return match(student, roster) or (owner(student.id, roster) if origin.source == "clones" else None)


def _absent(student: Student) -> Candidate:
    """A candidate for a student in the roster who has handed in nothing."""
    reason = say("Nothing was handed in: {called} is in the roster, and no submission is theirs.", called=str(student))
    origin = Origin(source="roster", students=(student,))
    return Candidate(safe_id(student.id or student.name or student.email), Path(), origin=origin, reason=reason)
