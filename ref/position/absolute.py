"""Encodings that are a vector for each position, added to the token embedding: computed by a rule, or learned."""

import torch
from torch import Tensor, nn

from ..modeling import VocabEmbedding
from .angles import inverse_frequencies, rotary_angles, rotation_matrix


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


class LearnedEncoding(nn.Module):
    """A table with a row for each position, trained like any other weight.

    This is the vocabulary embedding with positions as ids. There is no row for a position of ``max_len`` or more, and
    rows of positions that do not occur in training keep their initial values.

    Args:
        max_len: Number of positions.
        dim: Number of features.
        init_std: Standard deviation of the first values; 0.02 as in GPT-2.

    Source:
        Gehring et al., section 3.1, arXiv:1705.03122v3; Devlin et al., BERT, section 3, arXiv:1810.04805v2.
    """

    def __init__(self, max_len: int, dim: int, init_std: float = 0.02) -> None:
        super().__init__()
        self.max_len = max_len
        self.rows = VocabEmbedding(max_len, dim, init_std=init_std)

    def forward(self, positions: Tensor) -> Tensor:
        """The row of each position, ``[seq, dim]``.

        Raises:
            ValueError: If a position is ``max_len`` or more.
        """
        last = int(positions.max())
        if last >= self.max_len:
            raise ValueError(
                f"position {last} has no row in a learned table of max_len={self.max_len}. "
                "Choose an encoding that is a rule if sequences may grow."
            )
        rows: Tensor = self.rows(positions.unsqueeze(0))  # [1, seq, dim]
        return rows.squeeze(0)
