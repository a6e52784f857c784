"""The simplest encoding: the position itself, as a number."""

import torch
from torch import Tensor


def integer_encoding(positions: Tensor, dim: int) -> Tensor:
    """``PE(p) = (p, p, ..., p)``.

    The encoding is unique but not bounded: at position 1000 it is far larger than the elements of an embedding, about
    1 in size. And no linear map takes ``PE(p)`` to ``PE(p + k)`` for all ``p``: it would map ``PE(0) = 0`` to itself.

    Args:
        positions: ``[seq]``, integers from 0.
        dim: Number of features.

    Returns:
        ``[seq, dim]``, float32.
    """
    return positions.to(torch.float32).unsqueeze(-1).expand(-1, dim).clone()
