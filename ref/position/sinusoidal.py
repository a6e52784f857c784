"""Sines and cosines of geometrically spaced wavelengths."""

import torch
from torch import Tensor

from .angles import inverse_frequencies, rotary_angles, rotation_matrix


def sinusoidal_encoding(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """``PE(p)_{2i} = sin(p * w_i)`` and ``PE(p)_{2i+1} = cos(p * w_i)``, with ``w_i = base ** (-2 * i / dim)``.

    The encoding is bounded, smooth, and defined for every position; a step of ``k`` positions is a linear map, see
    ``shift_matrix``. Inner products ``PE(p) . PE(q) = sum_i cos((p - q) * w_i)`` depend only on the distance.

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
    """The linear map ``M_k`` with ``PE(p + k) = M_k PE(p)`` for every position ``p``.

    With growing ``p``, a pair ``(cos, sin)`` turns counter-clockwise. The pairs here are ``(sin, cos)``, which turn
    clockwise, so ``M_k`` rotates by ``-k * w_i``.

    Args:
        offset: ``k``, positive or negative.
        dim: Number of features, even.
        base: The base of the encoding.

    Returns:
        ``M_k``, ``[dim, dim]``, float32, orthogonal.
    """
    return rotation_matrix(-offset * inverse_frequencies(dim, base))
