"""GroupRMSNorm: groups, gamma and eps, by outputs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Final

import torch
from torch import Tensor

from grader.assignment.hidden.norm_inputs import GROUPINGS, build, grouped_input, quotients
from grader.assignment.model.normalising import CONTRACT, GROUP_SIZE, HIDDEN, LARGE, SIGNS, normalising
from grader.assignment.model.normalising import fits as follows
from grader.assignment.model.outputs import numbers
from grader.testing import Student

from .fit import TOLERANCE, fits, only

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
    "mean": "norm_mean_of_values",
    "largest": "norm_largest_magnitude",
}
AXES: Final = {"norm_mean_over_batch": (0,), "norm_mean_over_sequence": (1,), "norm_mean_over_all_tokens": (0, 1)}
FIRST, OTHERS = slice(GROUP_SIZE), slice(GROUP_SIZE, None)  # features of the first group, and of all others
MAGNITUDES: Final = (1e-9, 1e-3, 0.5, 1.0, 2.0, 7.0, 1024.0, 4096.0)
EPSILONS: Final = (0.75, 15.0)


def groups(student: Student) -> str | None:
    """Name what is wrong with the law that outputs follow: the grouping, or, if that is right, the quotient."""
    law = normalising(student).law
    if law is None:
        return without_a_law(student, grouped_input(0, SHAPE))
    inputs = [(grouped_input(student.seed, shape), shape[3]) for shape in GROUPINGS]
    outputs = (quotients(student, x, group_size, "cpu") for x, group_size in inputs)
    if law == CONTRACT or not all(follows(y, law(*given)) for y, given in zip(outputs, inputs, strict=True)):
        return None
    return NAMES.get(law.quotient if law.grouping == CONTRACT.grouping else law.grouping)


def without_a_law(student: Student, x: Tensor) -> str | None:
    """Name what sets the outputs apart.

    Args:
        student: The submission.
        x: ``[b, s, h]``: groups of several scales, none around zero.
    """

    def output(x: Tensor) -> Tensor:
        return quotients(student, x, GROUP_SIZE, "cpu")

    plain = output(x)
    if not normalising(student).works or not bool(plain.isfinite().all()):
        return None
    if _mixes_tokens(output, x, plain):
        other = "norm_root_of_another_token" if _has_roots_of_tokens(x, plain) else "norm_mixes_tokens"
        return next((mistake for mistake, axes in AXES.items() if _runs_over(axes, x, plain)), other)
    right = CONTRACT(x, GROUP_SIZE)
    root = x.double() / right
    for mistake, expected in (("norm_without_root", right / root), ("norm_multiplies", x * root)):
        if fits(plain, expected, expected.abs()):
            return mistake
    if fits(plain.sort(-1).values, right.sort(-1).values, right.abs().amax(-1, keepdim=True)):
        return "norm_output_order"
    groups = zip(plain.split(GROUP_SIZE, -1), x.double().split(GROUP_SIZE, -1), strict=True)
    as_it_was = [fits(given, taken, taken.abs()) for given, taken in groups]
    if any(as_it_was) and not all(as_it_was):
        return "norm_group_left_out"
    if not (_apart(output, x, plain, FIRST, OTHERS) and _apart(output, x, plain, OTHERS, FIRST)):
        return "norm_groups_share"
    return "norm_feature_left_out" if _leaves_out(x, plain) else None


def _leaves_out(x: Tensor, plain: Tensor) -> bool:
    """Whether the mean square of each group is that of a slice of its features, divided by its size or the group's."""
    groups = x.double().unflatten(-1, (-1, GROUP_SIZE))
    slices = [groups[..., first:last] for first, last in combinations(range(GROUP_SIZE + 1), 2)]
    squares = [(part.square(), size) for part in slices for size in {part.shape[-1], GROUP_SIZE}]
    roots = (square.sum(-1, keepdim=True).div(size).sqrt() for square, size in squares)
    return any(fits(plain, (groups / root).flatten(-2), plain.abs()) for root in roots)


def _runs_over(axes: tuple[int, ...], x: Tensor, plain: Tensor) -> bool:
    """Whether a mean square runs over these dimensions of the input, beside or instead of features."""
    groups = x.double().unflatten(-1, (-1, GROUP_SIZE))  # [b, s, h/gz, gz]
    roots = (groups.square().mean((*axes, *features), keepdim=True).sqrt() for features in ((), (-1,), (-2, -1)))
    return any(fits(plain, (groups / root).flatten(-2), plain.abs()) for root in roots)


def _has_roots_of_tokens(x: Tensor, plain: Tensor) -> bool:
    """Whether every token is divided by the root mean squares of some token, group by group."""
    groups, given = (y.double().flatten(0, 1).unflatten(-1, (-1, GROUP_SIZE)) for y in (x, plain))
    divided = groups.unsqueeze(1) / groups.square().mean(-1, keepdim=True).sqrt()  # [token, whose roots, h/gz, gz]
    off = (divided - given.unsqueeze(1)).abs() <= TOLERANCE * given.abs().unsqueeze(1)
    return bool(off.flatten(2).all(-1).any(-1).all())


def _mixes_tokens(output: Callable[[Tensor], Tensor], x: Tensor, plain: Tensor) -> bool:
    """Whether the first or the last token's output changes with the other tokens."""
    for kept in (0, -1):
        changed = x * 4
        changed[kept, kept] = x[kept, kept]
        if not fits(output(changed)[kept, kept], plain[kept, kept], plain[kept, kept].abs()):
            return True
    return False


def _apart(output: Callable[[Tensor], Tensor], x: Tensor, plain: Tensor, scaled: slice, kept: slice) -> bool:
    """Whether some groups' outputs stay when others are scaled."""
    changed = x.clone()
    changed[..., scaled] *= 4
    return fits(output(changed)[..., kept], plain[..., kept], plain[..., kept].abs())


def gamma(student: Student) -> str | None:
    """Divide the output for a gamma by that for a neutral one: the quotient is the gamma that scales each feature."""
    token = LARGE * torch.tensor(SIGNS).reshape(1, 1, -1)
    order = 7 * torch.arange(HIDDEN) % HIDDEN
    own = torch.tensor(SIGNS).flip(0) * (1 + order) / 8  # below and above one: a bound at one leaves some of them
    reading = normalising(student)
    if not reading.works:
        return None

    def output(filling: Tensor | None) -> Tensor:
        return numbers(build(student, GROUP_SIZE, "cpu", gamma=filling)(token), (HIDDEN,))

    plain, scaled = output(None), output(own)
    met = scaled / plain
    if fits(met, own, own.abs()):
        return None
    laws = {
        "norm_shared_gamma": own[:GROUP_SIZE].repeat(HIDDEN // GROUP_SIZE),
        "norm_gamma_of_group": own[::GROUP_SIZE].repeat_interleave(GROUP_SIZE),
        "norm_permuted_gamma": own.sort().values[met.argsort().argsort()],  # the same values in the order that was met
        "norm_gamma_plus_one": 1 + own,
        "norm_gamma_twice": own.square(),
        "norm_gamma_unused": torch.ones(HIDDEN),
    }
    found = [mistake for mistake, law in laws.items() if fits(met, law, law.abs())]
    if fits(scaled, plain + own, own.abs()):
        found.append("norm_gamma_added")
    inside = (reading.law or CONTRACT)(token * own, GROUP_SIZE).flatten()
    if fits(scaled, inside, inside.abs()):
        found.append("norm_gamma_before_root")
    some = torch.arange(HIDDEN) < HIDDEN // 2
    factors, expected = output(own[order].where(some, own)) / plain, met[order].where(some, met)
    if not found and fits(factors, expected, expected.abs()):
        found.append("norm_gamma_changed")  # each factor follows from the feature's own gamma alone
    return only(found)


def _response(student: Student, eps_argument: float) -> Tensor:
    """``[magnitudes, h]``: outputs for flat tokens, each in a call of its own, divided by the tokens' signs."""
    pattern = normalising(student).signs.reshape(1, 1, -1)
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
        return _beside_the_root(responses)
    root = magnitudes / slope  # [magnitudes, h]: the root mean square as the student takes it
    fixed = (magnitudes[0] / responses[0][0]).square()
    laws: list[tuple[str | None, Callable[[float], Tensor]]] = [
        (None, lambda argument: magnitudes / (root.square() + argument).sqrt()),
        ("norm_eps_outside", lambda argument: magnitudes / (root + argument)),
        ("norm_eps_squared", lambda argument: magnitudes / (root.square() + argument**2).sqrt()),
        ("norm_eps_as_floor", lambda argument: magnitudes / root.square().clamp(min=argument).sqrt()),
        ("norm_eps_as_floor", lambda argument: magnitudes / root.clamp(min=argument)),
        ("norm_eps_as_floor", lambda argument: magnitudes / root.clamp(min=argument / GROUP_SIZE**0.5)),  # of the norm
        ("norm_eps_absent", lambda _: slope.expand_as(root)),
        ("norm_eps_constant", lambda _: magnitudes / (root.square() + fixed).sqrt()),  # the last: zero fits it as well
    ]
    for mistake, law in laws:
        expected = [law(argument) for argument in EPSILONS]
        if all(fits(seen, wanted, wanted) for seen, wanted in zip(responses, expected, strict=True)):
            return mistake
    return _beside_the_root(responses) or _subtracted(responses, magnitudes, root)


def _beside_the_root(responses: list[Tensor]) -> str | None:
    """Laws by which eps shows in tokens of any size: added to output or 1 / root, or multiplied into root or mean."""
    small, large = EPSILONS
    first, second = (seen[MAGNITUDES.index(1.0) :] for seen in responses)
    sizes = torch.tensor(MAGNITUDES[MAGNITUDES.index(1.0) :], dtype=torch.float64).unsqueeze(-1)
    added = {"norm_eps_on_output": torch.tensor(SIGNS, dtype=torch.float64), "norm_eps_on_reciprocal": sizes}
    for mistake, of_eps in added.items():
        if fits((second - first) / (large - small), of_eps, of_eps.abs()):
            return mistake
    factor = (1 + small) / (1 + large)
    multiplied = {"norm_eps_multiplies": factor, "norm_eps_not_rescaled": factor**0.5}
    return next((one for one, by in multiplied.items() if fits(second, first * by, first.abs() * by)), None)


def _subtracted(responses: list[Tensor], magnitudes: Tensor, root: Tensor) -> str | None:
    """Whether eps is taken off under the root, seen where something is left."""
    for seen, argument in zip(responses, EPSILONS, strict=True):
        left = root.square() > 2 * argument
        expected = (magnitudes / (root.square() - argument).sqrt())[left]
        if not left.any() or not fits(seen[left], expected, expected):
            return None
    return "norm_eps_subtracted"
