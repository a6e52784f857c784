"""``python -m grader.selftest.diagnosis``: how often a known mistake gets its own hint, another one, or none.

Three kinds of work: wrong variants with a row in the hint table, wrong variants without one, and pairs of mistakes.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.assignment import Rubric, load_rubric
from grader.diagnose import PROBES, diagnose
from grader.judge.student import Student
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.limits import Limits
from grader.selftest.slips import Slip, pairs_of_slips, submission
from grader.selftest.variants import Variant, all_variants

# Two misconceptions in one variant, and a variant carries one hint: here both are right.
BOTH_RIGHT = {
    "wrong.rope_growth.dynamic_the_other_way_round": {
        "rope_static": "rope_static_keeps_growth",
        "rope_dynamic": "rope_dynamic_forgets_growth",
    }
}
# Tables that do not depend on the ratio cannot show which one was used, or kept.
NEEDS_RATIO = ("rope_smallest_even_ratio", "rope_static", "rope_dynamic")


@dataclass(frozen=True)
class Finding:
    """What one property of one submission is told, and what it should be told.

    Attributes:
        kind: Which of the three kinds of work.
        name: Of the variant, or of the two mistakes.
        property_id: The property that fails.
        wanted: The id of the misconception; None where no hint fits.
        found: What the diagnosis says.
    """

    kind: str
    name: str
    property_id: str
    wanted: str | None
    found: str | None

    @property
    def verdict(self) -> str:
        """``right``, ``none`` where a hint is missing, or ``wrong``."""
        return "right" if self.found == self.wanted else "wrong" if self.found else "none"


def student_of(files: Mapping[str, str], rubric: Rubric) -> Student:
    """A submission of ours, in this process."""
    return Student(files, InProcessWorker, rubric, Limits(submission_s=1e6))


def hint_of_variant(variant: Variant, property_id: str, rubric: Rubric) -> str | None:
    """The hint that a property which the variant breaks should get, if the table has one for it."""
    own = BOTH_RIGHT.get(variant.name, {}).get(property_id, variant.hint)
    listed = {entry.id for entry in rubric.misconceptions if property_id in entry.properties}
    return own if own in listed else None


def hint_of_slip(pair: Sequence[Slip], slip: Slip) -> str | None:
    """The hint that one of two mistakes should get, unless the other one hides it."""
    unscaled = any(other.misconception == "rope_unscaled_base" for other in pair)
    return None if unscaled and slip.property_id in NEEDS_RATIO else slip.misconception


def measure(rubric: Rubric, variants: Sequence[Variant], pairs: Sequence[Sequence[Slip]]) -> Iterator[Finding]:
    """Diagnose every property that each of them breaks."""
    for variant in variants:
        student = student_of(variant.files, rubric)
        for property_id in sorted(variant.breaks):
            wanted = hint_of_variant(variant, property_id, rubric)
            found = diagnose(student, property_id) if property_id in PROBES else None
            yield Finding("with a row" if wanted else "without a row", variant.name, property_id, wanted, found)
    for pair in pairs:
        student = student_of(submission(pair), rubric)
        name = " + ".join(slip.misconception for slip in pair)
        for slip in pair:
            wanted, found = hint_of_slip(pair, slip), diagnose(student, slip.property_id)
            yield Finding("two mistakes" if wanted else "hidden by another", name, slip.property_id, wanted, found)


def figures(findings: Sequence[Finding]) -> str:
    """A line for each kind, and one for each finding that is not right."""
    counts = Counter((finding.kind, finding.verdict) for finding in findings)
    kinds = dict.fromkeys(finding.kind for finding in findings)
    lines = [
        f"{kind:18}" + "".join(f"{counts[kind, verdict]:5} {verdict}" for verdict in ("right", "none", "wrong"))
        for kind in kinds
    ]
    lines += [
        f"{finding.name}, {finding.property_id}: {finding.found}, not {finding.wanted}"
        for finding in findings
        if finding.verdict != "right"
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    warnings.simplefilter("ignore")  # a student's code may warn
    torch.set_num_threads(1)
    wrong = [variant for variant in all_variants() if not variant.valid]
    print(figures(list(measure(load_rubric(), wrong, pairs_of_slips()))))


if __name__ == "__main__":
    main()
