"""How a submission's result differs between two gradings: which properties changed, and why, as far as reports show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.core.results.outcome import Outcome
from grader.core.results.report import PropertyReport, Report, summary_line


class Kind(StrEnum):
    """How the result of a submission changed, the most urgent kind first."""

    DROP = "drop"  # fewer points, or none where there were some
    GONE = "gone"  # only in the old grading
    STATUS = "status"  # not graded in either, but for another reason
    RISE = "rise"  # more points, or some where there were none
    DECIDED = "decided"  # the same points, but something else was decided
    MOVED = "moved"  # the same points, but from other properties
    ADDED = "added"  # only in the new grading


class Cause(StrEnum):
    """A condition of grading in which two reports differ."""

    FILES = "files"
    TESTS = "tests"
    RUBRIC = "rubric"
    POINTS = "points"  # a property is worth more or less than it was
    SEED = "seed"
    DEVICES = "devices"
    ENVIRONMENT = "environment"
    GRADER = "grader"
    COMMAND = "command"
    DECIDED = "decided"  # a person decided something
    WITHDRAWN = "withdrawn"  # a person no longer decides it
    POLICY = "policy"  # the same points make another grade
    UNKNOWN = "unknown"  # the results differ, although all conditions that the reports record are the same


Decisions = Mapping[str, str]  # from what a decision is about, such as a property's id, to the decision in words
GradeMove = tuple[str, float | None, float | None]  # a student's grade before and now; None where there is none
SHORT = 8  # characters of a digest are enough to tell two apart


@dataclass(frozen=True)
class Reason:
    """A cause, and what differs: the names of files, or the value before and after."""

    cause: Cause
    detail: str = ""


@dataclass(frozen=True)
class PropertyChange:
    """A property whose outcome or points changed; ``old`` or ``new`` is None where that report lacks the property."""

    id: str
    old: PropertyReport | None
    new: PropertyReport | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Difference:
    """A submission whose result changed.

    Attributes:
        old: Points before, score and bonus together; None where it was not graded.
        new: Points now, in the same way.
        old_status: None where the submission is only in the new grading.
        new_status: None where it is only in the old one.
        reasons: Why the result of the submission as a whole changed.
        grades: Of its students, those whose grade changed.
    """

    id: str
    kind: Kind
    old: float | None
    new: float | None
    old_status: str | None
    new_status: str | None
    reasons: tuple[Reason, ...] = ()
    changes: tuple[PropertyChange, ...] = ()
    grades: tuple[GradeMove, ...] = ()

    @property
    def change(self) -> float:
        """Points gained; negative where points were lost. A side without points counts as zero."""
        return round((self.new or 0.0) - (self.old or 0.0), 6)


def difference(
    old: Report | None,
    new: Report | None,
    decided: tuple[Decisions, Decisions] = ({}, {}),
    grades: Sequence[GradeMove] = (),
) -> Difference | None:
    """How the result of one submission changed, or None if it is the same.

    Both reports have the points that people decided on, and one may be missing; ``decided`` is what they decided then
    and now, and ``grades`` those that changed.
    """
    points = (_points(old), _points(new))
    status = (summary_line(old).shown if old else None, summary_line(new).shown if new else None)
    if old is None or new is None:
        known = old or new
        kind: Kind = Kind.ADDED if old is None else Kind.GONE
        return Difference(known.submission.id if known else "", kind, *points, *status)
    decisions = _decisions(*decided)
    changes = tuple(_changes(old, new, decisions))
    each = dict.fromkeys([*(reason for change in changes for reason in change.reasons), *decisions.values()])
    reasons = tuple(each)
    why = (old.reason_parts or old.reason, new.reason_parts or new.reason)  # parts read the same in every language
    if changes or (points[0], status[0], why[0]) != (points[1], status[1], why[1]):
        kind = _kind(*points, bool(changes))
        reasons = reasons or tuple(_differing(old, new).values())
    elif grades:
        kind = Kind.DROP if any((now or 0.0) < (before or 0.0) for _, before, now in grades) else Kind.RISE
        reasons = reasons or (Reason(Cause.POLICY),)
    elif decisions:
        kind = Kind.DECIDED
    else:
        return None
    return Difference(new.submission.id, kind, *points, *status, reasons, changes, tuple(grades))


def _decisions(old: Decisions, new: Decisions) -> dict[str, Reason]:
    """The decisions that changed, by what they are about."""
    changed = [slot for slot in dict.fromkeys((*new, *old)) if old.get(slot) != new.get(slot)]
    return {
        slot: Reason(Cause.DECIDED, new[slot]) if slot in new else Reason(Cause.WITHDRAWN, old[slot])
        for slot in changed
    }


def in_order(differences: Iterable[Difference]) -> list[Difference]:
    """Sort differences by kind, drops first; within a kind by the size of the change, largest first, then by id."""
    kinds = [*Kind]
    return sorted(differences, key=lambda one: (kinds.index(one.kind), -abs(one.change), one.id))


def _kind(old: float | None, new: float | None, moved: bool) -> Kind:
    if old is not None and (new is None or new < old):
        return Kind.DROP
    if new is not None and (old is None or new > old):
        return Kind.RISE
    return Kind.MOVED if old is not None and moved else Kind.STATUS


def _points(report: Report | None) -> float | None:
    if report is None or report.score is None or report.bonus is None:
        return None
    return round(report.score + report.bonus, 6)


def _changes(old: Report, new: Report, decisions: Mapping[str, Reason]) -> Iterator[PropertyChange]:
    """The properties that changed, in the order of the new report; then those that only the old one has."""
    if (old.status, new.status) != ("graded", "graded"):  # a submission that is not graded has no properties to compare
        return
    before, after = old.properties, new.properties
    differing = _differing(old, new)
    for identifier in after | before:
        one, other = before.get(identifier), after.get(identifier)
        if _rated(one) != _rated(other):
            decided = decisions.get(identifier)
            only_points = one and other and (one.outcome, one.max_points) == (other.outcome, other.max_points)
            why = (decided,) if decided and only_points else _why(one, other, differing)
            yield PropertyChange(identifier, one, other, why)


def _rated(prop: PropertyReport | None) -> tuple[Outcome, float, float] | None:
    return (prop.outcome, prop.points, prop.max_points) if prop else None


def _why(
    before: PropertyReport | None, after: PropertyReport | None, differing: Mapping[Cause, Reason]
) -> tuple[Reason, ...]:
    """Why a property changed: its worth if its outcome did not, the rubric if a report lacks it, else other causes."""
    if before and after and before.outcome is after.outcome:
        return (Reason(Cause.POINTS, f"{before.max_points:g} → {after.max_points:g}"),)
    by_rubric = before is None or after is None
    found = [reason for cause, reason in differing.items() if (cause is Cause.RUBRIC) == by_rubric]
    return tuple(found or differing.values())


def _differing(old: Report, new: Report) -> dict[Cause, Reason]:
    """Each condition in which the reports differ, with both values; without any, the command, or an unknown cause."""
    before, after = _recorded(old), _recorded(new)
    commands = old.provenance.command, new.provenance.command
    was, now = ({(file.path, file.sha256) for file in submission.submission.files} for submission in (old, new))
    files = ", ".join(sorted({path for path, _ in was ^ now}))
    found = {Cause.FILES: Reason(Cause.FILES, files)} if files else {}
    found |= {
        cause: Reason(cause, f"{before[cause]} → {after[cause]}") for cause in before if before[cause] != after[cause]
    }
    if not found and commands[0] != commands[1]:
        return {Cause.COMMAND: Reason(Cause.COMMAND, " → ".join(commands))}
    return found or {Cause.UNKNOWN: Reason(Cause.UNKNOWN)}


def _recorded(report: Report) -> dict[Cause, str]:
    """What a report records of the conditions of grading."""
    where, how = report.environment, report.provenance
    return {
        Cause.TESTS: how.hidden_tests_sha256[:SHORT],
        Cause.RUBRIC: how.rubric_sha256[:SHORT],
        Cause.SEED: str(how.seed),
        Cause.DEVICES: "+".join(where.devices),
        Cause.ENVIRONMENT: f"Python {where.python}, torch {where.torch}, {where.isolation}",
        Cause.GRADER: how.grader_version,
    }
