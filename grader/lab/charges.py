"""``python -m grader.lab.charges``: does each mistake cost the properties that it breaks, and no others?

Wrong variants, slips alone and pairs of slips are judged; so are valid variants. Printed are the shares of those caught
and charged exactly, the ratio of points lost to points of the properties to blame, hints that name another cause, and
how many lost properties a student sees in the public tests.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median

import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.corpus.variants.slips import (
    SLIPS,
    Slip,
    combined_styles,
    sampled_pairs,
    submission,
    task_of_slip,
)
from grader.assignment.diagnose import diagnose
from grader.core.judge.devices import devices, is_elsewhere
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.student import Student
from grader.core.messages import Message
from grader.core.results.outcome import CaseResult, Outcome, property_outcome
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits

from .signatures.public_tests import PublicTests

KINDS = ("variants", "slips", "pairs", "valid")


@dataclass(frozen=True)
class Subject:
    """A submission with a known cause.

    Attributes:
        kind: One of ``KINDS``.
        name: Unique.
        task: The task that is judged.
        blamed: The properties that the mistake breaks; empty if there is no mistake.
        hints: The misconceptions that may be named for it.
        files: Path to source text.
    """

    kind: str
    name: str
    task: str
    blamed: frozenset[str]
    hints: frozenset[str]
    files: Mapping[str, str]


@dataclass(frozen=True)
class Charge:
    """The verdict on a subject.

    Attributes:
        lost: The properties that it lost.
        named: The misconception named for each of them that has one.
        unseen: The lost properties whose public tests pass, so that a student cannot see the mistake by them.
    """

    subject: Subject
    lost: frozenset[str]
    named: Mapping[str, str]
    unseen: frozenset[str] = frozenset()

    @property
    def caught(self) -> bool:
        """Whether every property to blame is charged."""
        return self.subject.blamed <= self.lost

    @property
    def exact(self) -> bool:
        """Whether exactly the properties to blame are charged."""
        return self.subject.blamed == self.lost

    @property
    def wrong_hints(self) -> dict[str, str]:
        """The properties whose hint names another cause."""
        return {prop: hint for prop, hint in self.named.items() if hint not in self.subject.hints}


def subjects(rubric: Rubric, kinds: Iterable[str], every: int) -> Iterator[Subject]:
    """All subjects of these kinds; of the pairs, only each ``every``-th."""
    task_of = {name: task.id for task in rubric.tasks for name in task.names}
    for variant in all_variants():
        kind = "valid" if variant.valid else "variants"
        if kind in kinds:
            yield Subject(kind, variant.name, task_of[variant.piece], variant.breaks, variant.hints, variant.files)
    combinations: list[tuple[Slip, ...]] = [(slip,) for slip in SLIPS] if "slips" in kinds else []
    combinations += sampled_pairs(every) if "pairs" in kinds else []
    combinations += combined_styles() if "valid" in kinds else []
    for slips in combinations:
        kind = "slips" if len(slips) == 1 else "pairs"
        yield Subject(
            kind if slips[0].properties else "valid",
            "+".join(slip.name for slip in slips),
            task_of_slip(slips[0]),
            frozenset().union(*(slip.properties for slip in slips)),
            frozenset().union(*(slip.hints for slip in slips)),
            submission(slips),
        )


def lost(results: Iterable[CaseResult]) -> frozenset[str]:
    """The properties that lose their points.

    Raises:
        RuntimeError: If a hidden test itself failed: that must not be taken for a student's mistake.
    """
    by_property: dict[str, list[CaseResult]] = {}
    for result in results:
        if result.outcome is Outcome.GRADER_ERROR:
            raise RuntimeError(f"{result.property_id}, {result.id}: {result.detail}")
        by_property.setdefault(result.property_id, []).append(result)
    earned = (Outcome.PASSED, Outcome.NOT_ASSESSED)
    return frozenset(prop for prop, cases in by_property.items() if property_outcome(cases) not in earned)


@cache
def _tests(rubric_task: str) -> HiddenTests:
    return HiddenTests(ASSIGNMENT, devices("auto"), 0, ASSIGNMENT.rubric.only(rubric_task).properties)


@cache
def _public_tests() -> PublicTests:
    return PublicTests()


def judged(subject: Subject, rubric: Rubric) -> tuple[Student, list[CaseResult]]:
    """The subject as a student, and the outcome of each case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a student's code may warn
        student = Student(subject.files, InProcessWorker, rubric, Limits(submission_s=1e6))
        return student, _tests(subject.task).run(student)


def charge(subject: Subject, rubric: Rubric) -> Charge:
    """Judge a subject."""
    student, results = judged(subject, rubric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gone = lost(results)
        failed = {prop for prop in gone if property_outcome([r for r in results if r.property_id == prop]) == "failed"}
        failing: dict[str, dict[str, Message]] = {prop: {} for prop in failed}
        for result in (r for r in results if r.property_id in failed and r.outcome is Outcome.FAILED):
            failing[result.property_id][result.id] = result.message
        named = {prop: diagnose(student, prop, failing[prop]) for prop in sorted(failed)}
        visible = gone & lost(result for result in results if not is_elsewhere(result.id))
        unseen = visible - _public_tests().failing(subject.files, visible)
    return Charge(subject, gone, {prop: hint for prop, hint in named.items() if hint}, unseen)


def ratio(charge: Charge, rubric: Rubric) -> float:
    """Points lost, divided by the points of the properties to blame."""
    worth = {identifier: prop.points for identifier, prop in rubric.properties.items()}
    return sum(worth[prop] for prop in charge.lost) / sum(worth[prop] for prop in charge.subject.blamed)


def figures(charges: Iterable[Charge], rubric: Rubric) -> str:
    """The table of figures, one line for each kind."""
    lines = [f"{'':10}{'cases':>7}{'caught':>8}{'exact':>7}{'median':>8}{'largest':>9}{'wrong hints':>13}"]
    kept = list(charges)
    for kind in KINDS:
        of_kind = [charge for charge in kept if charge.subject.kind == kind]
        if of_kind:
            ratios = [ratio(charge, rubric) for charge in of_kind if charge.subject.blamed] or [0.0]
            lines.append(
                f"{kind:10}{len(of_kind):7}{sum(c.caught for c in of_kind):8}{sum(c.exact for c in of_kind):7}"
                f"{median(ratios):8.2f}{max(ratios):9.2f}{sum(bool(c.wrong_hints) for c in of_kind):13}"
            )
    return "\n".join(lines)


def seen(charges: Iterable[Charge]) -> str:
    """How many of the lost properties a student sees in the public tests."""
    kept = list(charges)
    lost, unseen = (sum(map(len, sets)) for sets in ([c.lost for c in kept], [c.unseen for c in kept]))
    return f"public tests: {lost - unseen} of {lost} lost properties fail there, too"


def line(charge: Charge, rubric: Rubric) -> str:
    """One line about a charge that is not exact: missed and wrongly charged properties, and wrong hints."""
    parts = [f"{charge.subject.kind}  {charge.subject.name}:"]
    if missing := charge.subject.blamed - charge.lost:
        parts.append(f"missed {' '.join(sorted(missing))};")
    if more := charge.lost - charge.subject.blamed:
        points = sum(rubric.properties[prop].points for prop in more)
        parts.append(f"{points:g} too many, {' '.join(sorted(more))};")
    parts += [f"{prop} gets the hint {hint};" for prop, hint in charge.wrong_hints.items()]
    if charge.unseen:
        parts.append(f"not seen by the public tests of {' '.join(sorted(charge.unseen))};")
    return " ".join(parts)


def main() -> None:
    """Judge the subjects that the options choose, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--every", type=int, default=25, help="every n-th pair (default: %(default)s)")
    parser.add_argument("--task", help="only one task, such as task1")
    parser.add_argument("--match", default="", help="only names that contain this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rubric = ASSIGNMENT.rubric
    charges = []
    for subject in subjects(rubric, options.kinds, options.every):
        if options.task in (None, subject.task) and options.match in subject.name:
            found = charge(subject, rubric)
            charges.append(found)
            if not found.exact or found.wrong_hints or found.unseen:
                sys.stdout.write(line(found, rubric) + "\n")
                sys.stdout.flush()
    sys.stdout.write(f"{figures(charges, rubric)}\n{seen(charges)}\n")


if __name__ == "__main__":
    main()
