"""Dynamic NTK scaling: depends on the present length of the sequence; none up to the length of training."""

from .ntk import ntk_scaling
from .scaled import Scaled


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
