"""GroupRMSNorm: what is normalised, where eps goes, which gamma meets which feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from ..judge.cases import normal
from ..judge.student import Student
from .fit import TOLERANCE, fits, only, values

HIDDEN, GROUP_SIZE = 24, 4  # six groups of four: neither equal, nor is one the square of the other
SHAPE = (2, 3, HIDDEN)

# From the features in order, [h], to the groups, [number, size]; the right law is the one without a name.
GROUPINGS: Final[Mapping[str | None, Callable[[Tensor], Tensor]]] = {
    None: lambda features: features.unflatten(0, (-1, GROUP_SIZE)),
    "norm_over_whole_hidden": lambda features: features.unsqueeze(0),
    "norm_group_size_as_count": lambda features: features.unflatten(0, (GROUP_SIZE, -1)),
    "norm_strided_groups": lambda features: features.unflatten(0, (GROUP_SIZE, -1)).T,
}

# From groups [..., number, size] to their quotients.
QUOTIENTS: Final[Mapping[str | None, Callable[[Tensor], Tensor]]] = {
    None: lambda x: x / x.square().mean(-1, keepdim=True).sqrt(),
    "norm_sum_for_mean": lambda x: x / x.square().sum(-1, keepdim=True).sqrt(),
    "norm_unbiased_mean": lambda x: x / (x.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt(),
    "norm_subtracts_mean": lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True),
}


def input_in_groups() -> Tensor:
    """``[2, 3, h]``: groups of several scales, none around zero, and all so large that no usual eps matters."""
    scales = torch.exp2(torch.arange(HIDDEN) // GROUP_SIZE % 3)
    return (normal(0, "diagnose", shape=SHAPE) + 0.5) * scales * 4


def normalised(x: Tensor, grouping: str | None, quotient: str | None) -> Tensor:
    """The output of one way of grouping and one way of dividing, without eps and gamma, float64."""
    indices = GROUPINGS[grouping](torch.arange(HIDDEN))  # [number, size]
    output = torch.empty(x.shape, dtype=torch.float64)
    output[..., indices] = QUOTIENTS[quotient](x.double()[..., indices])
    return output


def laws_followed(output: Tensor, x: Tensor, tolerance: float = TOLERANCE) -> list[tuple[str | None, str | None]]:
    """Every grouping and quotient that an output for ``x`` fits."""
    laws = [(grouping, quotient) for grouping in GROUPINGS for quotient in QUOTIENTS]
    return [law for law in laws if fits(output, normalised(x, *law), tolerance=tolerance)]


def groups(student: Student) -> str | None:
    """Compare with each grouping and each quotient; where both are wrong, the grouping comes first."""
    x = input_in_groups()
    module = student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE).assign(1.0)
    followed = laws_followed(values(module(x), x.shape), x)
    return only(grouping or quotient for grouping, quotient in followed)


# A token of one magnitude has that root mean square in any grouping, and groups of mean zero are LayerNorm's as well.
SIGNS: Final = (1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0) * 2
MAGNITUDES: Final = (1e-9, 1e-3, 0.5, 1.0, 7.0, 1024.0, 4096.0)
EPSILONS: Final = (0.75, 15.0)


def _response(student: Student, eps_argument: float) -> Tensor:
    """``[magnitudes, h]``: outputs for flat tokens, each in a call of its own, divided by the tokens' signs."""
    module = student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE, eps=eps_argument).assign(1.0)
    pattern = torch.tensor(SIGNS)
    return torch.cat([values(module((m * pattern).reshape(1, 1, -1)), (1, HIDDEN)) / pattern for m in MAGNITUDES])


def eps(student: Student) -> str | None:
    """Read how outputs depend on magnitude and eps.

    The largest tokens, on which eps has no effect, tell by how much the root is off for other reasons, such as a sum in
    place of a mean. A fixed eps is estimated from the smallest token, and must then explain all others.
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
        ("norm_eps_constant", lambda _: magnitudes / (root.square() + fixed).sqrt()),  # the last: zero fits it as well
    ]
    for mistake, law in laws:
        expected = [law(argument) for argument in EPSILONS]
        if all(fits(seen, wanted, wanted) for seen, wanted in zip(responses, expected, strict=True)):
            return mistake
    return None


def gamma(student: Student) -> str | None:
    """Divide the output for a gamma by that for ones: the quotient is the gamma that met each feature.

    A module that registers only one group's gammas is given the first ones.
    """
    token = 64 * torch.tensor(SIGNS).reshape(1, 1, -1)
    module = student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE)
    shared = any(parameter.value.numel() == GROUP_SIZE for parameter in module.parameters())
    own = 1 + torch.arange(HIDDEN) / 8
    plain = values(module.assign(1.0)(token), (HIDDEN,))
    scaled = values(module.assign(own[:GROUP_SIZE] if shared else own)(token), (HIDDEN,))
    size = plain.abs().mean()
    if not fits(plain, size * torch.tensor(SIGNS), size):  # then it is the features that are out of place
        return None
    met = scaled / plain
    if fits(met, own, own):
        return None
    laws = {
        "norm_shared_gamma": own[:GROUP_SIZE].repeat(HIDDEN // GROUP_SIZE),
        "norm_permuted_gamma": own[met.argsort().argsort()],  # own ascends: the same values in the order that was met
    }
    return only(mistake for mistake, law in laws.items() if fits(met, law, law))
