"""Judges submissions with a known result: the reference, untouched stubs, wrong and valid variants, right styles.

This project wrote all of them, so they run in the judge's own process; ``attacks`` grades hostile submissions. Styles,
which share no text with the reference and have to keep all points, run in workers, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from grader.core.assignment import Assignment
from grader.core.judge.compare import DTYPES
from grader.core.judge.compare import name as dtype_name
from grader.core.judge.devices import devices
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results.outcome import NOTHING_LOST, CaseResult, Outcome, by_property, property_outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import LAYERS, Limits
from grader.specimens.styles import Style, forget_modules
from grader.specimens.variants import Variant, variants_of

from .attacks import grader_for

ALL_DTYPES = tuple(map(dtype_name, DTYPES))
REFERENCE, STUBS = "reference", "stubs"

Cases = Mapping[str, Sequence[CaseResult]]  # from the id of a property to its cases


@dataclass(frozen=True)
class Verdict:
    """The verdict of the hidden tests on one submission with a known result.

    Attributes:
        valid: Whether the submission should keep all points.
        lost: Ids of the properties that lost their points.
        margin: Error divided by limit. For a wrong variant, the largest in the failing cases of the properties that it
            breaks; for right work, the largest in all cases. None if no error was measured.
        dtypes: Dtypes of the inputs with which a wrong variant failed.
        problem: Why this verdict is wrong; empty if it is right.
    """

    name: str
    seed: int
    valid: bool
    lost: frozenset[str]
    margin: float | None = None
    dtypes: tuple[str, ...] = ()
    problem: str = ""


@cache
def known(assignment: Assignment) -> dict[str, Variant]:
    """All submissions to judge by name: the two fixed ends, then the variants."""
    reference = Variant(REFERENCE, "", True, assignment.solution())
    stubs = Variant(STUBS, "", False, assignment.stubs(), breaks=frozenset(assignment.rubric.properties))
    return {variant.name: variant for variant in (reference, stubs, *variants_of(assignment))}


def judge(assignment: Assignment, name: str, seed: int) -> Verdict:
    """Judge one of ``known()`` with the cases of one seed."""
    torch.manual_seed(0)  # some variants draw random numbers, and the page should be the same each time
    variant = known(assignment)[name]
    return verdict(variant, run(assignment, variant.files, seed), seed)


def verdict(variant: Variant, cases: Cases, seed: int) -> Verdict:
    """Compare what a variant loses with what it claims to break."""
    lost = frozenset(prop for prop, results in cases.items() if property_outcome(results) not in NOTHING_LOST)
    ours = [case.id for results in cases.values() for case in results if case.outcome is Outcome.GRADER_ERROR]
    problems = [
        f"the grader failed in {ours[0]}" if ours else "",
        f"keeps {', '.join(sorted(kept))}" if (kept := variant.breaks - lost) else "",
        f"loses {', '.join(sorted(unfair))}" if (unfair := lost - variant.breaks - variant.also) else "",
    ]
    failing = [case for prop in variant.breaks for case in cases.get(prop, ()) if case.outcome not in NOTHING_LOST]
    telling = [case for results in cases.values() for case in results] if variant.valid else failing
    tokens = {token for case in failing for token in case.id.split("-")}
    dtypes = tuple(dtype for dtype in ALL_DTYPES if dtype in tokens)
    problem = "; ".join(filter(None, problems))
    return Verdict(variant.name, seed, variant.valid, lost, largest(telling), dtypes, problem)


def largest(cases: Sequence[CaseResult]) -> float | None:
    """The largest error divided by its limit; infinite where an output was not finite."""
    shares = [case.error_ulp / case.limit_ulp for case in cases if case.error_ulp is not None and case.limit_ulp]
    return max((math.inf if math.isnan(share) else share for share in shares), default=None)


def run(assignment: Assignment, files: Mapping[str, str], seed: int) -> Cases:
    """The hidden tests on a submission in this process, with the cases of one seed."""
    student = Student(files, InProcessWorker, assignment.rubric, Limits())
    return by_property(assignment.rubric, run_tests(hidden_tests(assignment, seed), student))


@cache
def hidden_tests(assignment: Assignment, seed: int, task: str | None = None) -> HiddenTests:
    """The hidden tests, or those of one task, on all devices; they are collected once."""
    return HiddenTests(assignment, devices("auto"), seed, assignment.rubric.only(task).properties)


SAMPLE = 10  # of all combinations, for each seed
# Where a style is judged, and the layers of isolation that are left out there; None without a worker.
WAYS: Mapping[str, tuple[str, ...] | None] = {"this process": None, "all layers": (), "a process only": LAYERS}


def style_numbers(assignment: Assignment, seeds: Sequence[int], every: bool) -> list[int]:
    """The numbers of the combinations to judge: every one or a sample; none if the assignment has no styles."""
    if not (assignment.folder / "corpus" / "styles").is_dir():
        return []
    known = range(assignment.part("corpus.styles").COMBINATIONS)
    step = len(known) // SAMPLE
    return [*known] if every else sorted({number for seed in seeds for number in known[seed % step :: step]})


def judge_style(assignment: Assignment, number: int, way: str) -> Verdict:
    """Judge one combination in one of ``WAYS``; the number is the seed of its cases where no worker is needed."""
    style: Style = assignment.part("corpus.styles").style(number)
    submission, without = style.submission(assignment), WAYS[way]
    cases: Mapping[str, Sequence[Any]]
    if without is None:
        forget_modules()
        cases = run(assignment, submission.files, number)
    else:
        report = grader_for(assignment, without=without).grade(submission)
        cases = {name: prop.cases for name, prop in report.properties.items()}
    failing = {  # the first case of each property that does not pass
        name: case for name, some in cases.items() for case in reversed(some) if case.outcome not in NOTHING_LOST
    }
    problem = "; ".join(f"{name} {case.outcome}, {case.id}: {case.message}" for name, case in failing.items())
    problem = problem and f"{problem} ({', '.join(style.options)})"
    closest = largest([case for some in cases.values() for case in some])
    seed = number if without is None else 0
    return Verdict(f"{style.name}, {way}", seed, True, frozenset(failing), closest, problem=problem)
