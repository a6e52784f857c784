"""YaRN: keep pairs that turn often, interpolate those that turn less than once, blend between; then scale logits up.

Llama 3.1 scales with the same ramp, other limits and no factor for logits.

The blend factor ``gamma`` is a ramp, and there are two of them. The paper's ramp is linear in the number of turns ``r =
L / lambda``. In the authors' code and in transformers it is linear in the index of the pair, with both ends rounded
outwards. The argument ``ramp`` chooses one.
"""

import math
from typing import Literal

import torch
from torch import Tensor

from .angles import inverse_frequencies
from .scaling import Scaled


def yarn_scaling(
    dim: int,
    base: float = 10000.0,
    *,
    factor: float,
    original_length: int,
    ramp: Literal["turns", "pairs"],
    alpha: float = 1.0,
    beta: float = 32.0,
    attention_factor: float | None = None,
) -> Scaled:
    """``theta' = (1 - gamma) * theta / s + gamma * theta``, and a factor that acts as a temperature of attention.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``.
        original_length: ``L``.
        ramp: How ``gamma`` is computed: "turns" as in the paper, or "pairs" as in the authors' code.
        alpha: Pairs that turn less often than this within ``L`` are interpolated; ``beta_slow`` in transformers.
        beta: Pairs that turn more often than this are not changed; ``beta_fast`` in transformers.
        attention_factor: Replaces the default, ``yarn_attention_factor(factor)``.

    Source:
        Peng et al., section 3.2 and section 3.4, arXiv:2309.00071v2; "yarn" in transformers v5.23.0,
        modeling_rope_utils.py.
    """
    if ramp == "turns":
        gamma = yarn_ramp_over_turns(dim, base, original_length=original_length, alpha=alpha, beta=beta)
    else:
        gamma = yarn_ramp_over_pairs(dim, base, original_length=original_length, alpha=alpha, beta=beta)
    temperature = yarn_attention_factor(factor) if attention_factor is None else attention_factor
    theta = inverse_frequencies(dim, base)
    return Scaled((1 - gamma) * theta / factor + gamma * theta, temperature)


def yarn_ramp_over_turns(
    dim: int, base: float = 10000.0, *, original_length: int, alpha: float = 1.0, beta: float = 32.0
) -> Tensor:
    """The paper's ``gamma``: 0 below ``alpha`` turns, 1 above ``beta``, linear in ``r = L * theta / (2 * pi)`` between.

    Returns:
        ``[dim/2]``, float32: the share of each pair's own frequency.
    """
    turns = original_length * inverse_frequencies(dim, base) / (2 * math.pi)
    return ((turns - alpha) / (beta - alpha)).clamp(0, 1)


def yarn_ramp_over_pairs(
    dim: int,
    base: float = 10000.0,
    *,
    original_length: int,
    alpha: float = 1.0,
    beta: float = 32.0,
    rounded: bool = True,
) -> Tensor:
    """``gamma`` of the authors' code: 1 up to the pair that turns ``beta`` times, 0 from the one with ``alpha`` turns.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        original_length: ``L``.
        alpha: As for ``yarn_scaling``.
        beta: As for ``yarn_scaling``.
        rounded: Whether both ends are rounded to whole pairs, outwards; ``truncate`` in transformers.

    Returns:
        ``[dim/2]``, float32: the share of each pair's own frequency.
    """

    def pair_that_turns(times: float) -> float:
        # L * theta_i = 2 * pi * times, solved for i
        return dim * math.log(original_length / (2 * math.pi * times)) / (2 * math.log(base))

    first, last = pair_that_turns(beta), pair_that_turns(alpha)
    if rounded:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, dim - 1)  # dim - 1 instead of dim/2 - 1, as in the authors' code
    width = last - first or 0.001  # if both ends are the same pair, the ramp is a step
    return 1 - ((torch.arange(dim // 2, dtype=torch.float32) - first) / width).clamp(0, 1)


def yarn_attention_factor(factor: float, slope: float = 0.1) -> float:
    """``sqrt(1/t) = 0.1 * ln(s) + 1``: a longer context spreads attention over more keys; larger logits undo that.

    Args:
        factor: ``s``; if it is at most 1, the result is 1.
        slope: 0.1 in the paper; DeepSeek's ``mscale`` multiplies it.

    Returns:
        The factor by which cosines and sines are multiplied; 1.2773 for ``s = 16``.

    Source:
        Peng et al., section 3.4, equation 22, arXiv:2309.00071v2.
    """
    return slope * math.log(max(factor, 1.0)) + 1.0


def llama3_scaling(
    dim: int,
    base: float = 500000.0,
    *,
    factor: float = 8.0,
    original_length: int = 8192,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> Scaled:
    """Divide frequencies of pairs that turn less than once within ``L`` by ``s``; keep those of four turns or more.

    Meta's code compares wavelengths with ``L / low_freq_factor`` and ``L / high_freq_factor``. Between them it blends
    linearly in ``L / lambda``, the number of turns. So the two factors are the ``alpha`` and ``beta`` of YaRN.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``; 8 in Llama 3.1, 32 in Llama 3.2.
        original_length: ``L``.
        low_freq_factor: Turns below which a pair is interpolated.
        high_freq_factor: Turns above which a pair is left alone.

    Source:
        ``apply_scaling`` in github.com/meta-llama/llama-models, models/llama3/model.py; "llama3" in transformers
        v5.23.0, modeling_rope_utils.py.
    """
    return yarn_scaling(
        dim,
        base,
        factor=factor,
        original_length=original_length,
        ramp="turns",
        alpha=low_freq_factor,
        beta=high_freq_factor,
        attention_factor=1.0,
    )
