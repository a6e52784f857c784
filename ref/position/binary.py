"""The second simplest encoding: the bits of the position, one bit for each feature."""

import torch
from torch import Tensor


def binary_encoding(positions: Tensor, dim: int) -> Tensor:
    """``PE(p)_i`` is bit ``i`` of ``p``, the lowest bit first.

    The encoding is bounded, and unique for positions below ``2 ** dim``. Feature ``i`` is a square wave with a period
    of ``2 ** (i + 1)`` positions: low features change fast and high ones slowly, as in the sinusoidal encoding. But
    neighbours can be far apart (7 and 8 differ in four bits), and no linear map takes ``PE(p)`` to ``PE(p + k)`` for
    all ``p``: it would map ``PE(0) = 0`` to itself.

    Args:
        positions: ``[seq]``, integers from 0.
        dim: Number of features; bits beyond the 63 of an integer are 0.

    Returns:
        ``[seq, dim]``, float32, of zeros and ones.
    """
    # Bit 63 is the sign, 0 for every position; shifts by more than that are undefined.
    bits = torch.arange(dim, device=positions.device).clamp(max=63)
    return (positions.long().unsqueeze(-1) >> bits & 1).to(torch.float32)
