"""GroupRMSNorm: where eps goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from grader.assignment.hidden.norm_inputs import quotients
from grader.assignment.model.normalising import GROUP_SIZE, SIGNS
from grader.testing import Student

from .fit import fits

MAGNITUDES: Final = (1e-9, 1e-3, 0.5, 1.0, 2.0, 7.0, 1024.0, 4096.0)
EPSILONS: Final = (0.75, 15.0)


def _response(student: Student, eps_argument: float) -> Tensor:
    """``[magnitudes, h]``: outputs for flat tokens, each in a call of its own, divided by the tokens' signs."""
    pattern = torch.tensor(SIGNS).reshape(1, 1, -1)
    tokens = (magnitude * pattern for magnitude in MAGNITUDES)
    return torch.cat([quotients(student, token, GROUP_SIZE, "cpu", eps_argument)[0] / pattern[0] for token in tokens])


def eps(student: Student) -> str | None:
    """Read how outputs depend on magnitude and eps.

    The largest tokens, on which eps has no effect, tell by how much the root is off for other reasons, such as a sum in
    place of a mean. A fixed eps is estimated from the smallest token, and must then explain all others.
    """
    responses = [_response(student, argument) for argument in EPSILONS]
    magnitudes = torch.tensor(MAGNITUDES, dtype=torch.float64).unsqueeze(-1)
    slope = responses[0][-1]
    if not fits(responses[1][-1], slope, slope):  # eps shows in large tokens, too
        root = magnitudes.expand_as(responses[0])
        on_reciprocal = [magnitudes * (1 / root + argument) for argument in EPSILONS]
        same = all(fits(seen, wanted, wanted) for seen, wanted in zip(responses, on_reciprocal, strict=True))
        return "norm_eps_on_reciprocal" if same else _beside_the_root(responses)
    root = magnitudes / slope  # [magnitudes, h]: the root mean square as the student takes it
    fixed = (magnitudes[0] / responses[0][0]).square()
    laws: list[tuple[str | None, Callable[[float], Tensor]]] = [
        (None, lambda argument: magnitudes / (root.square() + argument).sqrt()),
        ("norm_eps_outside", lambda argument: magnitudes / (root + argument)),
        ("norm_eps_squared", lambda argument: magnitudes / (root.square() + argument**2).sqrt()),
        ("norm_eps_as_floor", lambda argument: magnitudes / root.square().clamp(min=argument).sqrt()),
        ("norm_eps_as_floor", lambda argument: magnitudes / root.clamp(min=argument)),
        ("norm_eps_absent", lambda _: slope.expand_as(root)),
        ("norm_eps_constant", lambda _: magnitudes / (root.square() + fixed).sqrt()),  # the last: zero fits it as well
    ]
    for mistake, law in laws:
        expected = [law(argument) for argument in EPSILONS]
        if all(fits(seen, wanted, wanted) for seen, wanted in zip(responses, expected, strict=True)):
            return mistake
    return _beside_the_root(responses) or _subtracted(responses, magnitudes, root)


def _beside_the_root(responses: list[Tensor]) -> str | None:
    """Laws by which eps shows in tokens of any size: added to the output, or multiplied into the root."""
    small, large = EPSILONS
    first, second = (seen[MAGNITUDES.index(1.0) :] for seen in responses)
    added = (large - small) * torch.tensor(SIGNS, dtype=torch.float64).expand_as(first)
    if fits(second - first, added, large):
        return "norm_eps_on_output"
    factor = (1 + small) / (1 + large)
    return "norm_eps_multiplies" if fits(second, first * factor, first.abs() * factor) else None


def _subtracted(responses: list[Tensor], magnitudes: Tensor, root: Tensor) -> str | None:
    """Whether eps is taken off under the root, seen where something is left."""
    for seen, argument in zip(responses, EPSILONS, strict=True):
        left = root.square() > 2 * argument
        expected = (magnitudes / (root.square() - argument).sqrt())[left]
        if not left.any() or not fits(seen[left], expected, expected):
            return None
    return "norm_eps_subtracted"
