"""The diagnosis names every misconception of the rubric, alone or beside another mistake, and never a wrong one.

A third of the variants; ``GRADER_LONG=1`` takes all, as ``grader.lab.charges`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.corpus.variants.slips import submission
from grader.assignment.diagnose import PROBES, diagnose, pos_emb
from grader.assignment.diagnose.fit import TOLERANCE, fits, only
from grader.assignment.diagnose.shown import EXPLAINED
from grader.assignment.model import normalising
from grader.core.judge.student import Student
from grader.core.messages import quoted, say
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.lab.charges import task_of
from grader.selftest import LONG
from grader.specimens.variants import Variant

RUBRIC = ASSIGNMENT.rubric
VARIANTS = all_variants()
STEP = 1 if LONG else 3
WRONG = [variant for variant in VARIANTS if not variant.valid]
VALID = [variant for variant in VARIANTS if variant.valid][::STEP]


LISTED = {  # by property
    prop: {misconception.id for misconception in RUBRIC.misconceptions if prop in misconception.properties}
    for prop in {prop for misconception in RUBRIC.misconceptions for prop in misconception.properties}
}


def student_of(files: Mapping[str, str]) -> Student:
    return Student(files, InProcessWorker, RUBRIC, Limits(submission_s=1e6))


def test_a_property_can_be_told_a_cause_exactly_if_the_rubric_lists_misconceptions_for_it() -> None:
    assert PROBES.keys() | {prop for prop, causes in LISTED.items() if causes & EXPLAINED.keys()} == LISTED.keys()
    assert EXPLAINED.keys() <= {misconception.id for misconception in RUBRIC.misconceptions}


@pytest.mark.parametrize("variant", WRONG[::STEP], ids=lambda variant: variant.name)
def test_a_wrong_variant_gets_its_own_hint_and_no_other(variant: Variant) -> None:
    student = student_of(variant.files)
    for property_id in variant.breaks & PROBES.keys():
        right = variant.hints & LISTED[property_id]
        found = diagnose(student, property_id)
        assert found in right or (found is None and right <= EXPLAINED.keys()), property_id  # no case is given here


def test_a_misconception_is_not_named_where_a_failing_case_contradicts_it() -> None:
    persistent = next(variant for variant in WRONG if variant.hint == "rope_persistent_tables")
    student = student_of(persistent.files)
    listed_case = {"tables_are_non_persistent_buffers-cpu": say("state_dict() lists {names}", names="cos, sin")}
    assert diagnose(student, "rope_buffers", listed_case) == "rope_persistent_tables"
    assert diagnose(student, "rope_buffers", {"the_input_stays_as_it_was-cpu-float32": quoted("")}) is None


@pytest.mark.slow
@pytest.mark.parametrize("variant", VALID, ids=lambda variant: variant.name)
def test_a_valid_variant_gets_no_hint(variant: Variant) -> None:
    """For no property of its own task; the other tasks are solved as in the reference."""
    student = student_of(variant.files)
    for property_id in PROBES.keys() & RUBRIC.only(task_of(variant)).properties.keys():
        assert diagnose(student, property_id) is None, property_id


@pytest.mark.parametrize("files", [ASSIGNMENT.solution(), submission(()).files], ids=["reference", "without_a_slip"])
def test_the_reference_and_the_pieces_that_slips_are_put_into_get_no_hint(files: Mapping[str, str]) -> None:
    student = student_of(files)
    for property_id in PROBES:
        assert diagnose(student, property_id) is None, property_id


LIES: Mapping[str, object] = {
    "nothing": None,
    "no_entries": [],
    "a_tensor": torch.zeros(2, 4, 5),
    "a_parameter_of_no_use": [{"name": "p", "value": torch.zeros(1)}],
    "arguments_gone": {"output": torch.zeros(2, 4, 5), "arguments_after": []},
    "arguments_that_are_no_tensors": {"output": torch.zeros(1, 6, 5), "arguments_after": ["text"]},
    "gradients_that_are_no_tensors": {"argument_gradients": ["text"], "parameter_gradients": []},
}


@pytest.mark.parametrize("value", LIES.values(), ids=LIES)
def test_a_worker_that_lies_gets_no_hint(value: object) -> None:
    worker: Any = SimpleNamespace(spent_s=0.0, request=lambda *_: {"value": value}, close=lambda: None)
    student = Student({}, lambda _: worker, RUBRIC, Limits())
    for property_id in PROBES:
        assert diagnose(student, property_id) in (None, "rope_persistent_tables"), property_id


def test_norm_laws_are_far_from_each_other() -> None:
    """A law with one mistake never passes for another, even in bfloat16."""
    x = torch.randn(2, 3, 24, generator=torch.Generator().manual_seed(0)) * 8 + 4
    outputs = [law(x, 4) for law in normalising.LAWS if law.mistakes < 2]
    assert not any(normalising.fits(a, b) for a, b in combinations(outputs, 2))


def test_angle_laws_are_far_from_each_other() -> None:
    """For one of the two head dimensions that are looked at."""
    laws = [
        torch.cat([law(dim, 10000, ratio, 63).flatten() for dim, ratio in ((8, 2), (4, 4))])
        for _, law in pos_emb.ANGLES
    ]
    assert min(float((a.cos() - b.cos()).abs().max()) for a, b in combinations(laws, 2)) > 8 * 2.0**-8


def test_ratio_rules_differ_on_the_lengths_of_the_probe() -> None:
    chosen = [[rule(length) for length in pos_emb.LENGTHS] for rule in pos_emb.RATIOS.values()]
    assert all(a != b for a, b in combinations(chosen, 2))


def test_fits_wants_every_element_near_and_finite() -> None:
    ones = torch.ones(3)
    assert fits(ones * (1 + TOLERANCE / 2), ones)
    assert not fits(torch.tensor([1.0, 1.0, 1 + 2 * TOLERANCE]), ones)
    assert fits(torch.tensor([1.0, 1.0, 1 + 2 * TOLERANCE]), ones, scale=4.0)
    assert not fits(torch.tensor([1.0, torch.nan, 1.0]), ones)
    assert not fits(torch.tensor([1.0, torch.inf, 1.0]), ones)


def test_only_one_mistake_counts_and_the_right_law_is_none() -> None:
    assert only(["a"]) == "a"
    assert only(["a", "b"]) is None
    assert only(["a", None]) is None
    assert only([None]) is None
    assert only([]) is None
