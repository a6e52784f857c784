"""Rotary position embedding: three implementations with two layouts of pairs.

``rotate_adjacent`` and ``rotate_complex`` pair features ``(2i, 2i + 1)``; ``rotate_half_split`` pairs
``(i, i + head_dim/2)``, as most libraries and task 4 do. All three take ``(x, angles, attention_factor)``.
"""

import torch
from torch import Tensor

from ..functional import apply_rotary_pos_emb


def rotate_adjacent(x: Tensor, angles: Tensor, attention_factor: float = 1.0) -> Tensor:
    """Rotate each pair ``(x_{2i}, x_{2i+1})`` by ``+angles[:, i]``, and multiply by ``attention_factor``.

    Args:
        x: Queries or keys, ``[batch, seq, heads, head_dim]``, any float dtype, ``head_dim`` even. Not modified.
        angles: ``[seq, head_dim/2]``, radians, from ``rotary_angles``.
        attention_factor: Multiplies the result, as YaRN and LongRoPE need it; 1 keeps the length of vectors.

    Returns:
        ``[batch, seq, heads, head_dim]``, with the dtype of ``x``.

    Source:
        Su et al., RoFormer, section 3.4.2, arXiv:2104.09864v5. GPT-J's pairs; ``rotate_every_two`` in transformers
        v5.23.0, models/gptj/modeling_gptj.py.
    """
    cos, sin = (attention_factor * part.unsqueeze(1) for part in (angles.cos(), angles.sin()))  # [seq, 1, head_dim/2]
    even, odd = x[..., 0::2], x[..., 1::2]  # [batch, seq, heads, head_dim/2] each
    rotated = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
    return rotated.flatten(-2).to(x.dtype)  # [..., head_dim/2, 2] -> [..., head_dim]


def rotate_complex(x: Tensor, angles: Tensor, attention_factor: float = 1.0) -> Tensor:
    """Read each pair ``(x_{2i}, x_{2i+1})`` as ``x_{2i} + i * x_{2i+1}``, and multiply it by its phasor.

    The phasor is ``attention_factor * exp(i * angle)``, which Meta's code calls ``freqs_cis``. The pairs are those of
    ``rotate_adjacent``, so the result is the same up to rounding.

    Args:
        x: Queries or keys, ``[batch, seq, heads, head_dim]``, any float dtype, ``head_dim`` even. Not modified.
        angles: ``[seq, head_dim/2]``, radians, from ``rotary_angles``.
        attention_factor: Multiplies the result, as YaRN and LongRoPE need it; 1 keeps the length of vectors.

    Returns:
        ``[batch, seq, heads, head_dim]``, with the dtype of ``x``.

    Source:
        Su et al., RoFormer, section 3.2.1, arXiv:2104.09864v5. Meta's Llama pairs in this way: ``apply_rotary_emb`` in
        llama/model.py of github.com/meta-llama/llama at 57b0eb62de0636e75af471e49e2f1862d908d9d8.
    """
    # bfloat16 has no complex dtype, so convert to the angles' dtype first.
    pairs = torch.view_as_complex(x.to(angles.dtype).unflatten(-1, (-1, 2)).contiguous())  # [..., head_dim/2]
    phasors = torch.polar(torch.full_like(angles, attention_factor), angles)  # [seq, head_dim/2]
    rotated = pairs * phasors.unsqueeze(1)
    return torch.view_as_real(rotated).flatten(-2).to(x.dtype)  # [..., head_dim/2, 2] -> [..., head_dim]


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
