"""Sines and cosines of geometrically spaced wavelengths."""

import torch
from torch import Tensor

from .angles import inverse_frequencies, rotary_angles, rotation_matrix


def sinusoidal_encoding(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """``PE(p)_{2i} = sin(p * w_i)`` and ``PE(p)_{2i+1} = cos(p * w_i)``, with ``w_i = base ** (-2 * i / dim)``.

    Bounded, smooth, a fixed rule for every position, and linear in the step; see ``shift_matrix``. Its inner products
    ``PE(p) . PE(q) = sum_i cos((p - q) * w_i)`` depend on the distance alone.

    Args:
        positions: ``[seq]``, integers from 0.
        dim: Number of features, even.
        base: Sets the longest wavelength, a little below ``2 * pi * base`` positions.

    Returns:
        ``[seq, dim]``, float32.

    Source:
        Vaswani et al., Attention Is All You Need, section 3.5, arXiv:1706.03762v7.
    """
    angles = rotary_angles(positions, inverse_frequencies(dim, base).to(positions.device))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # [seq, dim/2, 2] -> [seq, dim]


def shift_matrix(offset: int, dim: int, base: float = 10000.0) -> Tensor:
    """The linear map that advances every position: ``PE(p + k) = M_k PE(p)``, the same for all ``p``.

    A pair ``(sin, cos)`` runs clockwise where ``(cos, sin)`` runs counter-clockwise, so ``M_k`` turns by minus the
    angle.

    Args:
        offset: ``k``, of either sign.
        dim: Number of features, even.
        base: That of the encoding.

    Returns:
        ``M_k``, ``[dim, dim]``, float32, orthogonal.
    """
    return rotation_matrix(-offset * inverse_frequencies(dim, base))
