"""The diagnosis names every misconception of the rubric, alone or beside another mistake, and never a wrong one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
import torch

from grader.assignment import load_rubric
from grader.diagnose import PROBES, diagnose, norm, pos_emb
from grader.diagnose.fit import TOLERANCE, fits, only
from grader.judge.student import Student
from grader.sandbox.launch import Operation
from grader.sandbox.limits import Limits
from grader.selftest import diagnosis
from grader.selftest.diagnosis import figures, hint_of_slip, hint_of_variant, measure
from grader.selftest.slips import NORM_SLIPS, POSITION_SLIPS, SHARD_SLIPS, VOCAB_SLIPS, Slip, pairs_of_slips, submission
from grader.selftest.variants import Variant, all_variants

RUBRIC = load_rubric()
VARIANTS = all_variants()
WRONG = [variant for variant in VARIANTS if not variant.valid]
VALID = [variant for variant in VARIANTS if variant.valid]
SLIPS = (*NORM_SLIPS, *VOCAB_SLIPS, *SHARD_SLIPS, *POSITION_SLIPS)


def listed() -> Mapping[str, set[str]]:
    """The misconceptions that the rubric lists for each property."""
    by_property: dict[str, set[str]] = defaultdict(set)
    for misconception in RUBRIC.misconceptions:
        for property_id in misconception.properties:
            by_property[property_id].add(misconception.id)
    return by_property


LISTED = listed()


def student_of(files: Mapping[str, str]) -> Student:
    return diagnosis.student_of(files, RUBRIC)


def test_a_property_has_a_probe_exactly_if_the_rubric_lists_misconceptions_for_it() -> None:
    assert PROBES.keys() == LISTED.keys()


def test_every_misconception_has_a_variant_for_each_of_its_properties() -> None:
    """So that the tests below show that each can be recognised."""
    shown = {(variant.hint, property_id) for variant in WRONG for property_id in variant.breaks}
    for misconception in RUBRIC.misconceptions:
        for property_id in misconception.properties:
            assert (misconception.id, property_id) in shown


@pytest.mark.parametrize("variant", WRONG, ids=lambda variant: variant.name)
def test_a_wrong_variant_gets_its_own_hint_and_no_other(variant: Variant) -> None:
    """A property that is only reached by the fault may get the same hint, or none."""
    student = student_of(variant.files)
    for property_id in (variant.breaks | variant.also) & PROBES.keys():
        found = diagnose(student, property_id)
        assert found is None or found in LISTED[property_id]
        own = hint_of_variant(variant, property_id, RUBRIC)
        assert found == own or (found is None and property_id not in variant.breaks), property_id


@pytest.mark.parametrize("variant", VALID, ids=lambda variant: variant.name)
def test_a_valid_variant_gets_no_hint(variant: Variant) -> None:
    student = student_of(variant.files)
    for property_id in PROBES:
        assert diagnose(student, property_id) is None, property_id


def test_the_pieces_that_slips_are_put_into_get_no_hint_without_one() -> None:
    student = student_of(submission(()))
    for property_id in PROBES:
        assert diagnose(student, property_id) is None, property_id


def test_every_misconception_has_a_slip() -> None:
    assert {slip.misconception for slip in SLIPS} == {misconception.id for misconception in RUBRIC.misconceptions}


@pytest.mark.parametrize("pair", pairs_of_slips(), ids=lambda pair: "+".join(slip.misconception for slip in pair))
def test_two_mistakes_get_a_hint_each(pair: tuple[Slip, Slip]) -> None:
    student = student_of(submission(pair))
    for slip in pair:
        assert diagnose(student, slip.property_id) == hint_of_slip(pair, slip), slip.property_id


def test_the_figures_count_right_missing_and_wrong_hints() -> None:
    variant = next(variant for variant in WRONG if variant.hint == "norm_over_whole_hidden")
    pair = pairs_of_slips()[0]
    findings = list(measure(RUBRIC, [variant], [pair]))
    name = " + ".join(slip.misconception for slip in pair)
    assert figures(findings).splitlines() == [
        "with a row            1 right    0 none    0 wrong",
        "two mistakes          2 right    0 none    0 wrong",
    ]
    other, nothing = replace(findings[1], found="norm_gamma"), replace(findings[2], found=None)
    assert figures([other, nothing]).splitlines() == [
        "two mistakes          0 right    1 none    1 wrong",
        f"{name}, {pair[0].property_id}: norm_gamma, not {pair[0].misconception}",
        f"{name}, {pair[1].property_id}: None, not {pair[1].misconception}",
    ]


def test_layer_norm_over_the_whole_hidden_dimension_is_first_told_about_groups() -> None:
    grouping, centred = NORM_SLIPS[0], NORM_SLIPS[5]
    assert diagnose(student_of(submission((grouping, centred))), "norm_groups") == "norm_over_whole_hidden"


NONSENSE = {
    "nothing": "None",
    "text": "'text'",
    "a_tuple": "(torch.zeros(2), torch.zeros(2))",
    "an_empty_tensor": "torch.empty(0)",
    "a_single_number": "torch.tensor(1.0)",
    "zeros": "torch.zeros(numel)",
    "not_a_number": "torch.full((numel,), torch.nan)",
    "infinity": "torch.full((numel,), torch.inf)",
    "integers": "torch.ones(numel, dtype=torch.int64)",
    "complex_numbers": "torch.ones(numel, dtype=torch.complex64)",
    "the_input": "input",
    "an_exception": "1 / 0",
}
NONSENSE_FILE = """
import torch
from torch import nn

class Nonsense(nn.Module):
    def __init__(self, hidden_size=0, vocab_size=0, emb_size=0, world_size=1, **options):
        super().__init__()
        self.emb_size = emb_size
        size = max(hidden_size, vocab_size // world_size * emb_size)
        if size:
            self.p = nn.Parameter(torch.zeros(size))

    def forward(self, input):
        numel = input.numel() * (self.emb_size or 1)
        return {result}

GroupRMSNorm = VocabEmbedding = ParallelVocabEmbedding = NTKAwareRoPE = Nonsense

def apply_rotary_pos_emb(input, cos, sin):
    numel = input.numel()
    return {result}
"""


@pytest.mark.parametrize("result", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_gets_no_hint(result: str) -> None:
    source = NONSENSE_FILE.format(result=result)
    student = student_of({task.file: source for task in RUBRIC.tasks} | {"src/functional.py": source})
    for property_id in PROBES:
        assert diagnose(student, property_id) is None, property_id


class Liar:
    """A worker that answers every request with the same value."""

    def __init__(self, value: object) -> None:
        self._value = value

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Answer with the value, whatever was asked for."""
        del operations, timeout_s
        return {"value": self._value}

    def close(self) -> None:
        """Nothing to end."""


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
    student = Student({}, lambda _: Liar(value), RUBRIC, Limits())
    for property_id in PROBES:
        assert diagnose(student, property_id) in (None, "rope_persistent_tables"), property_id


def test_norm_laws_are_far_from_each_other() -> None:
    """On the input of the probe, a law never passes for another, even in bfloat16."""
    x = norm.input_in_groups()
    laws = [norm.normalised(x, *law) for law in product(norm.GROUPINGS, norm.QUOTIENTS)]
    assert min(float((a - b).abs().max()) for a, b in combinations(laws, 2)) > 4 * TOLERANCE


def test_angle_laws_are_far_from_each_other() -> None:
    laws = [law(pos_emb.DIM, pos_emb.BASE, 2, pos_emb.SCALED_MS) for law in pos_emb.ANGLES.values()]
    assert min(float((a.cos() - b.cos()).abs().max()) for a, b in combinations(laws, 2)) > 8 * TOLERANCE


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
