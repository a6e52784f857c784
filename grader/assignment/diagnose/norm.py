"""GroupRMSNorm: what is normalised, and which gamma meets which feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from grader.assignment.hidden.norm_inputs import build, grouped_input
from grader.assignment.model.normalising import CONTRACT, GROUP_SIZE, HIDDEN, LARGE, SIGNS, normalising, numbers
from grader.testing import Student

from .fit import fits, only
from .norm_without_law import without_a_law

SHAPE: Final = (2, 3, HIDDEN, GROUP_SIZE)

# From a way to group or to divide to its misconception in the rubric; some have none.
NAMES: Final[Mapping[str, str]] = {
    "whole": "norm_over_whole_hidden",
    "count": "norm_group_size_as_count",
    "strided": "norm_strided_groups",
    "sum": "norm_sum_for_mean",
    "unbiased": "norm_unbiased_mean",
    "variance": "norm_standard_deviation",
    "unbiased_variance": "norm_standard_deviation",
    "centred": "norm_subtracts_mean",
    "centred_mean_square": "norm_subtracts_mean",
    "across": "norm_across_groups",
    "over_hidden": "norm_divided_by_hidden",
    "mean_magnitude": "norm_mean_magnitude",
    "largest": "norm_largest_magnitude",
}


def groups(student: Student) -> str | None:
    """Name what is wrong with the law that outputs follow: the grouping, or, if that is right, the quotient."""
    law = normalising(student).law
    if law is None:
        return without_a_law(student, grouped_input(0, SHAPE))
    if law == CONTRACT:
        return None
    return NAMES.get(law.quotient if law.grouping == CONTRACT.grouping else law.grouping)


def gamma(student: Student) -> str | None:
    """Divide the output for a gamma by that for a neutral one: the quotient is the gamma that scales each feature."""
    token = LARGE * torch.tensor(SIGNS).reshape(1, 1, -1)
    own = 1 + torch.arange(HIDDEN) / 8
    reading = normalising(student)
    if not reading.works:
        return None

    def output(filling: Tensor | None) -> Tensor:
        return numbers(build(student, GROUP_SIZE, "cpu", gamma=filling)(token), (HIDDEN,))

    plain, scaled = output(None), output(own)
    met = scaled / plain
    if fits(met, own, own):
        return None if fits(output(-own) / plain, -own, own) else "norm_gamma_changed"
    laws = {
        "norm_shared_gamma": own[:GROUP_SIZE].repeat(HIDDEN // GROUP_SIZE),
        "norm_gamma_of_group": own[::GROUP_SIZE].repeat_interleave(GROUP_SIZE),
        "norm_permuted_gamma": own[met.argsort().argsort()],  # own ascends: the same values in the order that was met
        "norm_gamma_plus_one": 1 + own,
        "norm_gamma_twice": own.square(),
        "norm_gamma_unused": torch.ones(HIDDEN),
    }
    found = [mistake for mistake, law in laws.items() if fits(met, law, law)]
    if fits(scaled, plain + own, own):
        found.append("norm_gamma_added")
    inside = (reading.law or CONTRACT)(token * own, GROUP_SIZE).flatten()
    if fits(scaled, inside, inside.abs()):
        found.append("norm_gamma_before_root")
    if not found and fits(output(own.flip(0)) / plain, met.flip(0), met.abs().flip(0)):
        found.append("norm_gamma_changed")  # feature by feature something else than gamma itself
    return only(found)
