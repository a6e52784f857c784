"""GroupRMSNorm: what is normalised, where eps is added, and which gamma scales which feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from ...judge.cases import normal
from ...judge.student import Student
from ..model.normalising import CONTRACT, GROUP_SIZE, HIDDEN, LARGE, SIGNS, filled, normalising
from .fit import fits, only, values

SHAPE = (2, 3, HIDDEN)

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
}


def input_in_groups() -> Tensor:
    """``[2, 3, h]``: groups of several scales, none with mean zero, and all so large that no usual eps matters."""
    scales = torch.exp2(torch.arange(HIDDEN) // GROUP_SIZE % 3)
    return (normal(0, "diagnose", shape=SHAPE) + 0.5) * scales * 4


def groups(student: Student) -> str | None:
    """Name what is wrong with the law that outputs follow: the grouping, or, if that is right, the quotient."""
    law = normalising(student).law
    if law is None or law == CONTRACT:
        return None
    return NAMES.get(law.quotient if law.grouping == CONTRACT.grouping else law.grouping)


MAGNITUDES: Final = (1e-9, 1e-3, 0.5, 1.0, 7.0, 1024.0, 4096.0)
EPSILONS: Final = (0.75, 15.0)


def _response(student: Student, eps_argument: float) -> Tensor:
    """``[magnitudes, h]``: outputs for flat tokens, each in a call of its own, divided by the tokens' signs."""
    module = student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE, eps=eps_argument)
    reading = normalising(student)
    filled(module, reading.neutral).train(reading.training)
    pattern = torch.tensor(SIGNS)
    return torch.cat([values(module((m * pattern).reshape(1, 1, -1)), (1, HIDDEN)) / pattern for m in MAGNITUDES])


def eps(student: Student) -> str | None:
    """Compare how outputs depend on magnitude and eps with each place where eps may be added.

    The largest tokens, on which eps has no effect, show by how much the root is wrong for other reasons, such as a sum
    in place of a mean. A fixed eps is estimated from the smallest token, and must then explain all others.
    """
    responses = [_response(student, argument) for argument in EPSILONS]
    magnitudes = torch.tensor(MAGNITUDES, dtype=torch.float64).unsqueeze(-1)
    slope = responses[0][-1]
    root = magnitudes / slope  # [magnitudes, h]: the root mean square as the student takes it
    fixed = (magnitudes[0] / responses[0][0]).square()
    laws: list[tuple[str | None, Callable[[float], Tensor]]] = [
        (None, lambda argument: magnitudes / (root.square() + argument).sqrt()),
        ("norm_eps_outside", lambda argument: magnitudes / (root + argument)),
        ("norm_eps_absent", lambda _: slope.expand_as(root)),
        ("norm_eps_constant", lambda _: magnitudes / (root.square() + fixed).sqrt()),  # last, since zero fits, too
    ]
    for mistake, law in laws:
        expected = [law(argument) for argument in EPSILONS]
        if all(fits(seen, wanted, wanted) for seen, wanted in zip(responses, expected, strict=True)):
            return mistake
    return None


def gamma(student: Student) -> str | None:
    """Divide the output for a gamma by that for a neutral one: the quotient is the gamma that scales each feature."""
    token = LARGE * torch.tensor(SIGNS).reshape(1, 1, -1)
    own = 1 + torch.arange(HIDDEN) / 8
    reading = normalising(student)
    if not reading.works:
        return None

    def output(filling: Tensor | float) -> Tensor:
        module = student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE)
        return values(filled(module, filling).train(reading.training)(token), (HIDDEN,))

    plain = output(reading.neutral)
    met = output(own) / plain
    if fits(met, own, own):
        return None
    laws = {
        "norm_shared_gamma": own[:GROUP_SIZE].repeat(HIDDEN // GROUP_SIZE),
        "norm_permuted_gamma": own[met.argsort().argsort()],  # own ascends: its values, in the order of met
        "norm_gamma_plus_one": 1 + own,
    }
    return only(mistake for mistake, law in laws.items() if fits(met, law, law))
