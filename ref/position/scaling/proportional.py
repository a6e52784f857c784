"""p-RoPE: the slowest pairs do not turn at all."""

import torch

from ..angles import inverse_frequencies
from .scaled import Scaled


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
