"""The result of every scaling, and the scaling that changes nothing."""

from typing import NamedTuple

from torch import Tensor

from ..angles import inverse_frequencies


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
