"""Grades a submission by record and replay and with ``--plain``, and compares the reports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment
from grader.core.intake.discover import discover
from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.specimens.students import write_class

from . import attacks, variants


@dataclass(frozen=True)
class Comparison:
    """Two reports on one submission, and how they differ; an empty problem if they do not."""

    name: str
    seed: int
    problem: str = ""


def items(assignment: Assignment, seeds: Sequence[int]) -> list[tuple[Assignment, str, int]]:
    """The submissions to grade both ways: variants and sample class with every seed, attacks with one, as many hang."""
    honest = [*variants.known(assignment), *_sample_class(assignment)]
    pairs = [*product(seeds, honest), *product(seeds[:1], attacks.known(assignment))]
    return [(assignment, name, seed) for seed, name in pairs]


def judge(assignment: Assignment, name: str, seed: int) -> Comparison:
    """Grade one of ``items()`` both ways, on the cases of one seed."""
    submission = _submission(assignment, name)
    ways = [attacks.grader_for(assignment, seed=seed, limits=attacks.LIMITS, plain=plain) for plain in (False, True)]
    replayed, plain = (way.grade(submission) for way in ways)
    problem = "; ".join(_differences(replayed, plain))
    # It is no problem if two plain reports differ, too: the submission is random.
    if not problem and _all(replayed) != _all(plain) == _all(ways[1].grade(submission)):
        problem = "the same outcomes, but other messages or numbers"
    return Comparison(name, seed, problem)


def _outcomes(report: Report) -> dict[str, Any]:
    """Status, points and outcomes of a report, which must not depend on time."""
    cases = {f"{name}, {case.id}": case.outcome for name, prop in report.properties.items() for case in prop.cases}
    points = {name: (prop.points, prop.outcome) for name, prop in report.properties.items()}
    return {"status": report.status, "score": (report.score, report.bonus), **points, **cases}


def _all(report: Report) -> str:
    return report.model_copy(update={"provenance": None}).model_dump_json(warnings=False)


def _differences(replayed: Report, plain: Report) -> Iterator[str]:
    found, expected = _outcomes(replayed), _outcomes(plain)
    for name in found.keys() | expected.keys():
        if found.get(name) != expected.get(name):
            yield f"{name}: {found.get(name)} on the replay, {expected.get(name)} with --plain"


def _submission(assignment: Assignment, name: str) -> Submission:
    if name in variants.known(assignment):
        return Submission(name, dict(variants.known(assignment)[name].files))
    if name in _sample_class(assignment):
        return _sample_class(assignment)[name]
    with tempfile.TemporaryDirectory() as folder:
        return attacks.known(assignment)[name].build(Path(folder))


@cache
def _sample_class(assignment: Assignment) -> dict[str, Submission]:
    with tempfile.TemporaryDirectory() as folder:
        write_class(assignment, Path(folder))
        return {candidate.id: candidate.read() for candidate in discover([Path(folder)])}
