"""Position interpolation (PI): compress all positions into the range of training."""

from ..angles import inverse_frequencies
from .scaled import Scaled


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
