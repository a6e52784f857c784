"""RoPE as the paper writes it: features ``(2i, 2i + 1)`` are a pair."""

import torch
from torch import Tensor


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
