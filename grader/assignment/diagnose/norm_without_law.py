"""GroupRMSNorm, where no law fits its outputs: what they do when other tokens, the whole input or one group change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torch import Tensor

from grader.assignment.hidden.norm_inputs import quotients
from grader.assignment.model.normalising import CONTRACT, GROUP_SIZE, normalising
from grader.testing import Student

from .fit import TOLERANCE, fits

AXES: Final = {"norm_mean_over_batch": (0,), "norm_mean_over_sequence": (1,), "norm_mean_over_all_tokens": (0, 1)}
FIRST, OTHERS = slice(GROUP_SIZE), slice(GROUP_SIZE, None)  # features of the first group, and of all others


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
    for factor, mistake in ((0.5, "norm_without_root"), (4.0, "norm_multiplies")):
        if fits(output(2 * x), factor * plain, plain.abs()):
            return mistake
    right = CONTRACT(x, GROUP_SIZE)
    if fits(plain.sort(-1).values, right.sort(-1).values, right.abs().amax(-1, keepdim=True)):
        return "norm_output_order"
    groups = zip(plain.split(GROUP_SIZE, -1), x.double().split(GROUP_SIZE, -1), strict=True)
    as_it_was = [fits(given, taken, taken.abs()) for given, taken in groups]
    if any(as_it_was) and not all(as_it_was):
        return "norm_group_left_out"
    apart = _apart(output, x, plain, FIRST, OTHERS) and _apart(output, x, plain, OTHERS, FIRST)
    if not apart:
        return "norm_groups_share"
    unseen = (_apart(output, x, plain, slice(j, j + 1), slice(k, k + 1)) for j, k in ((0, 1), (GROUP_SIZE - 1, 0)))
    return "norm_feature_left_out" if any(unseen) else None


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
