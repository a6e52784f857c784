"""The first idea: the position itself, as a number."""

import torch
from torch import Tensor


def integer_encoding(positions: Tensor, dim: int) -> Tensor:
    """``PE(p) = (p, p, ..., p)``.

    Unique, and without bound: at position 1000 the token's own signal, of size about 1, is lost in the sum. Nor is a
    step of ``k`` positions a linear map, since every linear map keeps ``PE(0) = 0`` where it is.

    Args:
        positions: ``[seq]``, integers from 0.
        dim: Number of features.

    Returns:
        ``[seq, dim]``, float32.
    """
    return positions.to(torch.float32).unsqueeze(-1).expand(-1, dim).clone()
