"""RoPE as in most libraries: features ``i`` and ``i + head_dim/2`` are a pair. Task 4 rotates in the same way."""

import torch
from torch import Tensor

from ...functional import apply_rotary_pos_emb


def half_split_tables(angles: Tensor, attention_factor: float = 1.0) -> tuple[Tensor, Tensor]:
    """Cosines and sines for ``apply_rotary_pos_emb``; both halves of the last dimension hold the same values.

    Args:
        angles: ``[seq, head_dim/2]``, radians, from ``rotary_angles``.
        attention_factor: As for ``rotate_half_split``.

    Returns:
        ``cos`` and ``sin``, ``[seq, head_dim]`` each, in the dtype of the angles.
    """
    angles = torch.cat((angles, angles), dim=-1)
    return attention_factor * angles.cos(), attention_factor * angles.sin()


def rotate_half_split(x: Tensor, angles: Tensor, attention_factor: float = 1.0) -> Tensor:
    """Rotate each pair ``(x_i, x_{i + head_dim/2})`` by ``+angles[:, i]``, and multiply by ``attention_factor``.

    It takes as many multiplications as with adjacent pairs, but needs no reordering of neighbouring features.

    Args:
        x: Queries or keys, ``[batch, seq, heads, head_dim]``, any float dtype, ``head_dim`` even. Not modified.
        angles: ``[seq, head_dim/2]``, radians, from ``rotary_angles``.
        attention_factor: Multiplies the result, as YaRN and LongRoPE need it; 1 keeps the length of vectors.

    Returns:
        ``[batch, seq, heads, head_dim]``, with the dtype of ``x``.

    Source:
        ``apply_rotary_pos_emb`` in transformers v5.23.0, models/llama/modeling_llama.py; GPT-NeoX before it.
    """
    return apply_rotary_pos_emb(x, *half_split_tables(angles, attention_factor))
