"""``python -m grader.lab.charges``: does each mistake cost the properties that it breaks, and no others?

Judges wrong variants, single slips, pairs of slips and valid variants. Prints how many are caught, how many are charged
exactly, and how many get a hint that names another cause.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
import typer

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants, submission
from grader.assignment.corpus.variants.slips import SLIPS, combined_styles, sampled_pairs
from grader.assignment.diagnose import diagnose
from grader.core.cli.terminal import in_one_line
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results import outcome
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.lab.verify.variants import hidden_tests
from grader.specimens.variants import Variant

KINDS = ("variants", "slips", "pairs", "valid")


@dataclass(frozen=True)
class Charge:
    """The verdict on a submission with a known cause.

    Attributes:
        lost: The properties that it lost.
        named: The misconception named for each of them that has one.
    """

    kind: str
    variant: Variant
    lost: frozenset[str]
    named: Mapping[str, str]

    @property
    def caught(self) -> bool:
        """Whether every property to blame is charged."""
        return self.variant.breaks <= self.lost

    @property
    def exact(self) -> bool:
        """Whether exactly the properties to blame are charged."""
        return self.variant.breaks == self.lost

    @property
    def wrong_hints(self) -> dict[str, str]:
        """The properties whose hint names another cause."""
        return {prop: hint for prop, hint in self.named.items() if hint not in self.variant.hints}


def points(properties: Iterable[str]) -> float:
    """What some properties are worth together."""
    return sum(ASSIGNMENT.rubric.properties[prop].points for prop in properties)


def subjects(kinds: Iterable[str], every: int) -> Iterator[tuple[str, Variant]]:
    """All submissions of these kinds, each with its kind; of the pairs, only each ``every``-th."""
    found = [("valid" if variant.valid else "variants", variant) for variant in all_variants()]
    found += [("slips", submission([slip])) for slip in SLIPS]
    found += [("valid", submission(styles)) for styles in combined_styles()]
    found += [("pairs", submission(pair)) for pair in sampled_pairs(every)] if "pairs" in kinds else []
    return ((kind, variant) for kind, variant in found if kind in kinds)


def lost(results: Sequence[CaseResult]) -> frozenset[str]:
    """The properties that lose their points.

    Raises:
        RuntimeError: If a hidden test itself failed: that must not be taken for a student's mistake.
    """
    for result in results:
        if result.outcome is Outcome.GRADER_ERROR:
            raise RuntimeError(f"{result.property_id}, {result.id}: {result.detail}")
    return frozenset(outcome.lost(results))


def task_of(variant: Variant) -> str:
    """The id of the task whose piece it changes."""
    return next(task.id for task in ASSIGNMENT.rubric.tasks if variant.piece in task.names)


def judged(variant: Variant) -> tuple[Student, list[CaseResult]]:
    """The submission as a student, and the outcome of each case of its task."""
    with warnings.catch_warnings(action="ignore"):  # a student's code may warn
        student = Student(variant.files, InProcessWorker, ASSIGNMENT.rubric, Limits(submission_s=1e6))
        return student, run_tests(hidden_tests(ASSIGNMENT, 0, task_of(variant)), student)


def charge(kind: str, variant: Variant) -> Charge:
    """Judge a submission."""
    student, results = judged(variant)
    with warnings.catch_warnings(action="ignore"):
        gone = lost(results)
        named = {}
        for prop in sorted(gone):
            cases = [result for result in results if result.property_id == prop]
            if outcome.property_outcome(cases) is Outcome.FAILED:
                failing = {case.id: case.message for case in cases if case.outcome is Outcome.FAILED}
                named[prop] = diagnose(student, prop, failing)
    return Charge(kind, variant, gone, {prop: hint for prop, hint in named.items() if hint})


def figures(charges: Sequence[Charge]) -> str:
    """The table of figures, one line for each kind."""
    lines = [f"{'':10}{'cases':>7}{'caught':>8}{'exact':>7}{'wrong hints':>13}"]
    for kind in KINDS:
        if of_kind := [charge for charge in charges if charge.kind == kind]:
            caught, exact = sum(c.caught for c in of_kind), sum(c.exact for c in of_kind)
            lines.append(f"{kind:10}{len(of_kind):7}{caught:8}{exact:7}{sum(bool(c.wrong_hints) for c in of_kind):13}")
    return "\n".join(lines)


def line(charge: Charge) -> str:
    """One line about a charge that is not exact: missed and wrongly charged properties, and wrong hints."""
    parts = [f"{charge.kind}  {charge.variant.name}:"]
    if missing := charge.variant.breaks - charge.lost:
        parts.append(f"missed {' '.join(sorted(missing))};")
    if more := charge.lost - charge.variant.breaks:
        parts.append(f"{points(more):g} too many, {' '.join(sorted(more))};")
    parts += [f"{prop} gets the hint {hint};" for prop, hint in charge.wrong_hints.items()]
    return " ".join(parts)


def main(
    kinds: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(KINDS)}. Default: all.")] = None,
    every: Annotated[int, typer.Option(help="Every n-th pair.")] = 25,
    task: Annotated[str, typer.Option(help="Only one task, such as task1.")] = "",
    match: Annotated[str, typer.Option(help="Only names that contain this.")] = "",
) -> None:
    """Judge the submissions that the options choose, and print the figures."""
    torch.set_num_threads(1)
    charges = []
    for kind, variant in subjects(kinds or KINDS, every):
        if task in ("", task_of(variant)) and match in variant.name:
            charges.append(found := charge(kind, variant))
            if not found.exact or found.wrong_hints:
                print(line(found), flush=True)
    if not charges:
        raise typer.BadParameter("no submission is of that KIND, --task and --match")
    print(figures(charges))


if __name__ == "__main__":
    typer.run(in_one_line(main))
