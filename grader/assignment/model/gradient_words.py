"""Wrong gradients of a normalisation in words: which part of the right one arrives, or what they would fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from grader.testing import Message, in_two_decimals, listed, say

from .normalising import fits

CLOSE: Final = 2.0**-6  # of a gradient's size: 16-bit rounding is finer
THROUGH: Final = "the part through the root mean square is {share} times what it should be"
WITHOUT_GAMMA: Final = say("as if gamma were 1")
WITHOUT_GAMMA_THROUGH: Final = say("as if gamma were 1 in the part through the root mean square")
OF_INPUT: Final = say("as if gamma were multiplied by the input, not by the normalised input")
OF_ONE: Final = say("as if gamma were added, not multiplied")
OF_FORMULAS: Final = (THROUGH, WITHOUT_GAMMA, WITHOUT_GAMMA_THROUGH, OF_INPUT, OF_ONE)  # of a backward of one's own
CUT_AT_OUTPUT: Final = "as if no gradient arrived at the output in features {places}"
Gradient = Callable[..., tuple[Tensor, ...]]  # of the input, of a law, for a gamma, perhaps an upstream; and its size


def told_of_input(
    found: Tensor, of_input: Gradient, normalised: Tensor, x: Tensor, gamma: Tensor, upstream: Tensor
) -> Message | None:
    """How a wrong gradient of the input follows from the right one's parts: direct, and through the root mean square.

    Args:
        found: The wrong one, ``[b, s, h]``.
        of_input: Gives the right one.
        normalised: The output for a gamma of one.
        x: The input.
        gamma: ``[h]``.
        upstream: The gradient of the output.
    """

    def parts(gamma: Tensor) -> tuple[Tensor, Tensor]:
        whole = of_input(gamma)[0]
        direct = (upstream.double() * gamma.double() * normalised / x.double()).where(x != 0, whole)
        return direct, whole - direct

    size = of_input(gamma)[1]
    (direct, through), (plain, plain_through) = parts(gamma), parts(torch.ones_like(gamma))

    def is_close(other: Tensor) -> bool:
        return bool(((found.cpu().double() - other).abs() <= CLOSE * (size + other.abs())).all())

    share = float(((found.cpu().double() - direct) * through).sum() / through.square().sum())
    told = {
        say(THROUGH, share=in_two_decimals(share)): direct + share * through,
        WITHOUT_GAMMA: plain + plain_through,
        WITHOUT_GAMMA_THROUGH: direct + plain_through,
    }
    return next((message for message, other in told.items() if is_close(other)), None)


def told_of_gamma(found: Tensor, x: Tensor, upstream: Tensor) -> list[Message]:
    """What a wrong gradient of gamma is the gradient of, if this explains it; nothing for a gamma of another size."""
    if found.shape != x.shape[-1:]:
        return []
    factors = {OF_INPUT: x.double(), OF_ONE: torch.ones_like(x).double()}
    return [
        message
        for message, factor in factors.items()
        if fits(found.cpu().double(), (upstream.double() * factor).flatten(0, -2).sum(0), CLOSE)
    ]


def told_cut(found: Tensor, gradients: Gradient, x: Tensor, gamma: Tensor, upstream: Tensor) -> Message | None:
    """In which features the output sends nothing back, if that explains the gradient of the input.

    Through the root mean square, each feature of a group receives the same multiple of itself: those that receive
    nothing else are alike.
    """
    multiples = (found.cpu().double() / x.double()).masked_fill(x == 0, 0).flatten(0, -2)  # [token, feature]
    one, other = multiples.unsqueeze(-1), multiples.unsqueeze(-2)
    gone = ((one - other).abs() <= CLOSE * (one.abs() + other.abs())).all(0).sum(-1) > 1
    gone &= gamma != 0
    of_input, size, *_ = gradients(gamma, upstream=upstream.masked_fill(gone, 0))
    close = (found.cpu().double() - of_input).abs() <= CLOSE * size
    return say(CUT_AT_OUTPUT, places=listed(gone)) if bool(close.all() and gone.any() and not gone.all()) else None
