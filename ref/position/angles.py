"""What every sinusoidal or rotary encoding shares: frequencies, angles, and the rotation they describe."""

import torch
from torch import Tensor


def inverse_frequencies(dim: int, base: float = 10000.0, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """The angle by which each pair of features turns from one position to the next; a geometric sequence over pairs.

    ``theta_i = base ** (-2 * i / dim)`` for ``i = 0 .. dim/2 - 1``. Position ``p`` turns pair ``i`` by ``p * theta_i``;
    a full turn takes ``2 * pi / theta_i`` positions, the wavelength. (The literature calls ``theta_i`` an "inverse
    frequency"; in physics it is an angular frequency.)

    Args:
        dim: Number of features, even.
        base: Sets the slowest pair: its full turn takes a little less than ``2 * pi * base`` positions.
        dtype: The dtype of the result; float64 is used to measure the error of float32.

    Returns:
        ``[dim/2]``, radians per position, in descending order from 1.

    Raises:
        ValueError: If ``dim`` is odd.

    Source:
        Su et al., RoFormer, section 3.2.2, arXiv:2104.09864v5; before it Vaswani et al., section 3.5,
        arXiv:1706.03762v7.
    """
    if dim % 2 != 0:
        raise ValueError(f"dim={dim} is odd, so its features do not form pairs. Choose an even one.")
    return base ** (-torch.arange(0, dim, 2, dtype=dtype) / dim)


def rotary_angles(positions: Tensor, inverse_frequencies: Tensor) -> Tensor:
    """The angle of every position and pair, ``positions[p] * inverse_frequencies[i]``.

    Args:
        positions: ``[seq]``, any integer or float dtype; they need not start at 0.
        inverse_frequencies: ``[dim/2]``, float32, or float64 for higher precision.

    Returns:
        ``[seq, dim/2]``, radians, in the dtype of the frequencies. 16 bits are too few: bfloat16 rounds 257 to 256.
    """
    return torch.outer(positions.to(inverse_frequencies), inverse_frequencies)


def rotation_matrix(angles: Tensor) -> Tensor:
    """The rotation of one position as a matrix: a block ``[[cos, -sin], [sin, cos]]`` for each adjacent pair.

    For study only. No implementation of RoPE builds this matrix, since all but ``2 * dim`` of its elements are zero.

    Args:
        angles: ``[dim/2]``, radians.

    Returns:
        ``[dim, dim]``, orthogonal.

    Source:
        Su et al., RoFormer, equation 15, arXiv:2104.09864v5.
    """
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).view(-1, 2, 2)  # [dim/2, 2, 2]
    matrix: Tensor = torch.block_diag(*blocks)
    return matrix
