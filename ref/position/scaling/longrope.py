"""LongRoPE: each pair has its own factor, which was found by a search."""

import math
from collections.abc import Sequence

import torch

from ..angles import inverse_frequencies
from .scaled import Scaled


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
