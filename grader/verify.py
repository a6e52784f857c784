"""The grader proves itself: right work keeps every point, wrong work loses the points of what it breaks.

Variants are ours, so they run in this process; what attacks can do to a grading is tried through real workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .assignment import Rubric, load_rubric
from .grading import reference_files
from .judge.hidden_tests import HiddenTests
from .judge.student import Student
from .results.outcome import CaseResult, Outcome, property_outcome
from .sandbox.in_process import InProcessWorker
from .sandbox.limits import Limits
from .selftest.submissions import stubs
from .selftest.variants import Variant, all_variants

FINE = (Outcome.PASSED, Outcome.NOT_ASSESSED)


@dataclass(frozen=True)
class Verdict:
    """What the hidden tests say about one submission whose truth is known.

    Attributes:
        name: The variant, or ``reference`` and ``stubs``.
        seed: Of the generated cases.
        lost: Properties that lost their points.
        margin: How many times over its limit the clearest failing case of the broken properties was; None where that
            was not a matter of size.
        problem: Why this verdict is wrong; empty if it is right.
    """

    name: str
    seed: int
    lost: frozenset[str]
    margin: float | None
    problem: str


def verify(seeds: Sequence[int], variants: Sequence[Variant] | None = None) -> Iterator[Verdict]:
    """Judge the reference, untouched stubs, and every variant, for every seed."""
    rubric = load_rubric()
    for seed in seeds:
        tests = HiddenTests(("cpu",), seed, rubric.properties)
        yield _ends(tests, rubric, seed, reference_files(), "reference", frozenset())
        yield _ends(tests, rubric, seed, stubs(), "stubs", frozenset(rubric.properties))
        for variant in all_variants() if variants is None else variants:
            yield _judge(tests, rubric, seed, variant)


def _run(tests: HiddenTests, rubric: Rubric, files: dict[str, str]) -> dict[str, list[CaseResult]]:
    by_property: dict[str, list[CaseResult]] = {}
    for result in tests.run(Student(files, InProcessWorker, rubric, Limits())):
        by_property.setdefault(result.property_id, []).append(result)
    return by_property


def _lost(cases: dict[str, list[CaseResult]]) -> frozenset[str]:
    return frozenset(identifier for identifier, results in cases.items() if property_outcome(results) not in FINE)


def _ends(
    tests: HiddenTests, rubric: Rubric, seed: int, files: dict[str, str], name: str, expected: frozenset[str]
) -> Verdict:
    """One of the two fixed ends: everything kept, or everything lost."""
    lost = _lost(_run(tests, rubric, files))
    wrong = ", ".join(sorted(lost ^ expected))
    return Verdict(name, seed, lost, None, f"judged wrongly: {wrong}" if wrong else "")


def _judge(tests: HiddenTests, rubric: Rubric, seed: int, variant: Variant) -> Verdict:
    cases = _run(tests, rubric, dict(variant.files))
    lost = _lost(cases)
    ours = [case.id for results in cases.values() for case in results if case.outcome is Outcome.GRADER_ERROR]
    problems = [
        f"the grader failed in {ours[0]}" if ours else "",
        f"keeps {', '.join(sorted(variant.breaks - lost))}" if variant.breaks - lost else "",
        f"loses {', '.join(sorted(unfair))}" if (unfair := lost - variant.breaks - variant.also) else "",
    ]
    failing = [case for prop in variant.breaks for case in cases.get(prop, ())]
    margins = [case.error_ulp / case.limit_ulp for case in failing if case.error_ulp and case.limit_ulp]
    return Verdict(variant.name, seed, lost, max(margins, default=None), "; ".join(filter(None, problems)))


def kill_table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as a page: one line for each variant, the same over all seeds unless it says otherwise."""
    seeds = sorted({verdict.seed for verdict in verdicts})
    by_name: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_name.setdefault(verdict.name, []).append(verdict)
    finite = [v.margin for v in verdicts if v.margin is not None and v.margin != float("inf")]
    lines = [
        "# Kill table",
        "",
        f"Written by `grader verify`: {len(by_name) - 2} variants, the reference and untouched stubs, over the seeds "
        f"{', '.join(map(str, seeds))}. {sum(bool(v.problem) for v in verdicts)} wrong verdicts.",
        f"Smallest margin of a wrong variant by size: {min(finite, default=0):.3g} times the limit.",
        "",
        "| variant | loses | times its limit |",
        "|---|---|---|",
    ]
    for name, judged in by_name.items():
        lost = "everything" if name == "stubs" else ", ".join(sorted(judged[0].lost)) or "nothing"
        smallest = min((v.margin for v in judged if v.margin is not None), default=None)
        problem = "".join(f" **{v.problem} (seed {v.seed})**" for v in judged if v.problem)
        lines.append(f"| {name} | {lost}{problem} | {'' if smallest is None else f'{smallest:.3g}'} |")
    return "\n".join([*lines, ""])
