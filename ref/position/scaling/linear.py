"""Position interpolation (PI): squeeze all positions into the range that training saw."""

from ..angles import inverse_frequencies
from .scaled import Scaled


def linear_scaling(dim: int, base: float = 10000.0, *, factor: float) -> Scaled:
    """``theta_i' = theta_i / s``: every pair turns ``s`` times slower, as if position ``p`` were ``p / s``.

    No angle is new to the model. But neighbours come closer in every pair, the fastest ones too, which tell them apart.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``.

    Source:
        Chen et al., section 3.2, arXiv:2306.15595v2; "linear" in transformers v5.23.0, modeling_rope_utils.py.
    """
    return Scaled(inverse_frequencies(dim, base) / factor)
