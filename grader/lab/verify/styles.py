"""Judges right submissions in many styles, which share no text with the reference; each has to keep all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from grader.core.assignment import Assignment
from grader.core.judge.judge import Judge
from grader.core.sandbox.limits import LAYERS
from grader.core.settings import Settings
from grader.core.specimens.styles import Style, forget_modules

from . import variants
from .variants import FINE, Verdict

SAMPLE = 10  # of all combinations, for each seed
# Where a style is judged, and the layers of isolation that are left out there; None without a worker.
WAYS: Mapping[str, tuple[str, ...] | None] = {"this process": None, "all layers": (), "a process only": LAYERS}


def numbers(assignment: Assignment, seeds: Sequence[int], every: bool) -> list[int]:
    """The numbers of the combinations to judge: every one or a sample; none if the assignment has no styles."""
    if not (assignment.folder / "corpus" / "styles").is_dir():
        return []
    known = range(assignment.part("corpus.styles").COMBINATIONS)
    step = len(known) // SAMPLE
    return [*known] if every else sorted({number for seed in seeds for number in known[seed % step :: step]})


def judge(assignment: Assignment, number: int, way: str) -> Verdict:
    """Judge one combination in one of ``WAYS``; the number is the seed of its cases where no worker is needed."""
    style: Style = assignment.part("corpus.styles").style(number)
    submission, without = style.submission(assignment), WAYS[way]
    if without is None:
        forget_modules()
        return _verdict(style, way, variants.run(assignment, submission.files, number), number)
    report = _grader(assignment, without).grade(submission)
    return _verdict(style, way, {prop.id: prop.cases for task in report.tasks for prop in task.properties}, 0)


def _verdict(style: Style, way: str, cases: Mapping[str, Sequence[Any]], seed: int) -> Verdict:
    """What is wrong: the first case of each property that does not pass, and all options."""
    failing = {name: case for name, own in cases.items() for case in reversed(own) if case.outcome not in FINE}
    problem = "; ".join(f"{name} {case.outcome}, {case.id}: {case.message}" for name, case in failing.items())
    problem = problem and f"{problem} ({', '.join(style.options)})"
    largest = variants.largest([case for own in cases.values() for case in own])
    return Verdict(f"{style.name}, {way}", seed, True, frozenset(failing), largest, problem=problem)


@cache
def _grader(assignment: Assignment, without: tuple[str, ...]) -> Judge:
    return Judge(Settings(assignment, without=without))
