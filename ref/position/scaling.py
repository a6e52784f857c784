"""Scalings of RoPE for sequences longer than those of training: each is a pure function from sizes to frequencies.

All take ``(dim, base=10000.0, *, ...)`` and return a ``Scaled``. ``factor`` is always how many times longer the context
should become (``s`` in the papers), ``original_length`` the length of the sequences in training (``L`` in the papers).
``yarn`` has two more, which blend.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..modeling.pos_emb import _ntk_base  # the same formula as in task 4
from .angles import inverse_frequencies


class Scaled(NamedTuple):
    """Frequencies to rotate by, and a factor for the rotated queries and keys.

    Attributes:
        inverse_frequencies: ``[dim/2]``, float32, radians per position.
        attention_factor: Multiplies cosines and sines, and so queries and keys; logits are multiplied by its square.
    """

    inverse_frequencies: Tensor
    attention_factor: float = 1.0


def no_scaling(dim: int, base: float = 10000.0) -> Scaled:
    """Plain RoPE, which transformers calls "default".

    Args:
        dim: The head dimension, or the part of it that rotates; even.
        base: 10000 in RoFormer and Llama 2, 500000 in Llama 3.

    Source:
        Su et al., RoFormer, section 3.2.2, arXiv:2104.09864v5.
    """
    return Scaled(inverse_frequencies(dim, base))


def linear_scaling(dim: int, base: float = 10000.0, *, factor: float) -> Scaled:
    """``theta_i' = theta_i / s``: every pair turns ``s`` times slower, as if position ``p`` were ``p / s``.

    No angle is larger than in training. But the angle between neighbours is smaller in every pair, also in the fastest
    pairs, by which a model distinguishes neighbours.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``.

    Source:
        Chen et al., section 2.3, arXiv:2306.15595v2; "linear" in transformers v5.23.0, modeling_rope_utils.py.
    """
    return Scaled(inverse_frequencies(dim, base) / factor)


def ntk_scaling(dim: int, base: float = 10000.0, *, factor: float) -> Scaled:
    """``b' = b * k ** (d / (d - 2))``: pair 0 turns as before, the last pair ``k`` times slower.

    Why this exponent: ``theta_i' = b' ** (-2 * i / d)``, and the last pair has ``i = d/2 - 1``, so its frequency is
    divided by ``(b'/b) ** ((d - 2) / d) = k``. The pairs between are slowed down by less than ``k``, so some of them
    reach angles that did not occur in training: a factor of 8 does not give 8 times the context.

    Args:
        dim: ``d``, the head dimension, even and above 2.
        base: ``b``, the base used in training.
        factor: ``k``.

    Source:
        Peng et al., YaRN, section 3.1, arXiv:2309.00071v2, on a proposal of the user bloc97.
    """
    return Scaled(inverse_frequencies(dim, _ntk_base(base, dim, factor)))


def dynamic_scaling(
    dim: int, base: float = 10000.0, *, length: int, original_length: int, factor: float = 1.0
) -> Scaled:
    """NTK-aware scaling by ``k = s * l / L - (s - 1)`` where ``l = max(length, L)``.

    With ``s = 1`` this is the paper's ``k = max(1, length / L)``. transformers allows other ``s``, with which ``k``
    grows ``s`` times as fast beyond ``L``. Task 4 has a third rule: the smallest even ``k`` with ``k * L >= length``.

    With all three rules the angle of a position changes as the sequence grows, so keys are cached before rotation: a
    key that was rotated at one length does not fit a query that is rotated at another.

    Args:
        dim: The head dimension, even and above 2.
        base: The base used in training.
        length: The present length of the sequence, positions in the cache included.
        original_length: ``L``.
        factor: ``s``; 1 for the paper's form.

    Source:
        Peng et al., YaRN, section 3.3, arXiv:2309.00071v2; "dynamic" in transformers v5.23.0, modeling_rope_utils.py.
    """
    stretch = max(length, original_length) / original_length
    return ntk_scaling(dim, base, factor=factor * stretch - (factor - 1))


def longrope_scaling(
    dim: int,
    base: float = 10000.0,
    *,
    factor: float,
    original_length: int,
    short_factors: Sequence[float],
    long_factors: Sequence[float],
    length: int,
    attention_factor: float | None = None,
) -> Scaled:
    """``theta_i' = theta_i / lambda_i``, with one list of ``lambda_i`` up to ``L`` and another beyond.

    The frequencies change when a sequence passes ``L``, so keys are cached before rotation; see ``dynamic_scaling``.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``, the extended length over the original one.
        original_length: ``L``.
        short_factors: ``lambda_i`` for sequences of at most ``L`` positions; ``dim/2`` numbers.
        long_factors: ``lambda_i`` for longer ones; ``dim/2`` numbers.
        length: The present length of the sequence, positions in the cache included.
        attention_factor: Replaces the default, ``sqrt(1 + ln(s) / ln(L))``.

    Source:
        Ding et al., section 3, arXiv:2402.13753v1; "longrope" in transformers v5.23.0, modeling_rope_utils.py.
    """
    factors = torch.tensor(long_factors if length > original_length else short_factors, dtype=torch.float32)
    if attention_factor is None:
        attention_factor = math.sqrt(1 + math.log(max(factor, 1.0)) / math.log(original_length))
    return Scaled(inverse_frequencies(dim, base) / factors, attention_factor)


def proportional_scaling(dim: int, base: float = 10000.0, *, share: float, factor: float = 1.0) -> Scaled:
    """Keep the fastest ``share`` of the pairs, and give the others frequency 0, so that they do not depend on position.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        share: ``p``, between 0 (NoPE) and 1 (RoPE); ``partial_rotary_factor`` in transformers.
        factor: Divides the frequencies of the kept pairs, as in ``linear_scaling``.

    Source:
        Barbero et al., arXiv:2410.06205v1; "proportional" in transformers v5.23.0, modeling_rope_utils.py.
    """
    theta = inverse_frequencies(dim, base) / factor
    turning = torch.arange(dim // 2) < int(share * dim // 2)
    return Scaled(theta.where(turning, torch.zeros(())))
