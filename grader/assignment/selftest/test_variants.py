"""The hidden tests on submissions whose fault is known: the right points are lost, and no others.

A variant differs from the reference in one piece, so the tests of that piece's task judge it. By default a fixed sample
covers every property, with a sixth of the valid variants; ``GRADER_LONG=1`` takes all, as ``grader verify`` does. Those
that are about devices are judged in ``test_devices.py``; of the valid ones, a few are judged here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.corpus.variants.slips import SLIPS
from grader.core.messages import Message
from grader.core.results.language import in_words
from grader.core.results.outcome import FRAME, RAISED, CaseResult, Outcome
from grader.core.rubric import Rubric
from grader.lab.charges import lost, task_of
from grader.selftest import LONG, some
from grader.selftest.warm_judges import RunHiddenTests, hidden_tests_of
from grader.specimens.variants import Variant

VARIANTS = all_variants()
VALID = [variant for variant in VARIANTS if variant.valid]
WRONG = [variant for variant in VARIANTS if not variant.valid and ".devices." not in variant.name]
WRONG_ON_A_DEVICE = [variant for variant in VARIANTS if not variant.valid and ".devices." in variant.name]
SLOW = "sequence_taken_to_be_dimension_two"  # multiplies [4112, 4112]; ten seconds for what others show as well

# Two English words in a row; and what a message about a wrong tensor has to say.
ENGLISH = re.compile(r"\b[A-Za-z']{2,} [A-Za-z']{2,}\b")
WRONG_TENSOR = re.compile(r": shape \[[\d, ]+\], \d+ of \d+ elements wrong, the first at \[[\d, ]+\]; .")


def sample(variants: Iterable[Variant]) -> list[Variant]:
    chosen: dict[str, Variant] = {}
    seen: set[str] = set()
    for variant in variants:
        if not variant.breaks <= seen and not variant.name.endswith(SLOW):
            chosen[variant.name] = variant
            seen |= variant.breaks
    return list(chosen.values())


SAMPLE = WRONG if LONG else sample(WRONG)
ABOUT_DEVICES = [variant for variant in VALID if ".devices." in variant.name]
RIGHT = VALID if LONG else [*[variant for variant in VALID if variant not in ABOUT_DEVICES][::6], *ABOUT_DEVICES[::15]]


@pytest.mark.parametrize("variant", SAMPLE, ids=lambda variant: variant.name)
def test_a_wrong_variant_loses_what_it_breaks(judge: RunHiddenTests, variant: Variant) -> None:
    results = judge(variant.files, task_of(variant))
    missing = lost(results)
    assert variant.breaks <= missing, variant.description
    assert missing <= variant.breaks | variant.also, variant.description
    for result in results:
        check_wording(result)


def check_wording(result: CaseResult) -> None:
    """A wrong tensor is described by its shape and the place, in either language, and nothing else stays English."""
    if result.outcome is not Outcome.FAILED:
        return
    ours = Message(*(part for part in result.message.parts if part.key not in (RAISED, FRAME)))
    chinese = in_words(ours, ASSIGNMENT, "zh")
    assert chinese != ours
    assert ENGLISH.findall(chinese) == [], chinese
    if result.error_ulp is not None and "rounding" not in result.message:
        assert WRONG_TENSOR.search(result.message), result.message


@pytest.mark.parametrize("variant", RIGHT, ids=lambda variant: variant.name)
def test_a_valid_variant_loses_nothing(judge: RunHiddenTests, variant: Variant) -> None:
    assert lost(judge(variant.files, task_of(variant))) == set(), variant.description


def test_the_sample_shows_every_property_and_the_corpus_every_misconception(rubric: Rubric) -> None:
    broken = {identifier for variant in [*SAMPLE, *WRONG_ON_A_DEVICE] for identifier in variant.breaks}
    assert broken == set(rubric.properties)
    shown = {hint for variant in WRONG for hint in variant.hints} | {hint for slip in SLIPS for hint in slip.hints}
    assert shown >= {misconception.id for misconception in rubric.misconceptions}


def test_variants_have_names_of_their_own_and_ids_that_exist(rubric: Rubric) -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    known = {misconception.id for misconception in rubric.misconceptions}
    for variant in VARIANTS:
        assert variant.breaks | variant.also <= rubric.properties.keys(), variant.name
        assert variant.hints <= known, variant.name
        assert variant.valid == (not variant.breaks), variant.name
        assert variant.files != ASSIGNMENT.solution(), variant.name


@pytest.mark.slow
@pytest.mark.parametrize("seed", some([20260901, 1, 2], 3))
def test_the_reference_passes_with_other_seeds(rubric: Rubric, seed: int) -> None:
    results = hidden_tests_of(ASSIGNMENT, seed=seed)(ASSIGNMENT.solution())
    assert {result.property_id for result in results} == set(rubric.properties)
    assert lost(results) == set()


def test_every_case_has_a_name_of_its_own(judge: RunHiddenTests) -> None:
    results = judge(ASSIGNMENT.solution())
    identities = [(result.property_id, result.id) for result in results]
    assert len(set(identities)) == len(identities)
