"""RoPE in the complex plane: a pair is one number, and a rotation one multiplication."""

import torch
from torch import Tensor


def rotary_phasors(angles: Tensor, attention_factor: float = 1.0) -> Tensor:
    """``attention_factor * exp(i * angle)``, which Meta's code calls ``freqs_cis``: cosine plus ``i`` times sine.

    Args:
        angles: ``[seq, head_dim/2]``, radians, from ``rotary_angles``.
        attention_factor: As for ``rotate_complex``.

    Returns:
        ``[seq, head_dim/2]``, complex64 for float32 angles.
    """
    return torch.polar(torch.full_like(angles, attention_factor), angles)


def rotate_complex(x: Tensor, angles: Tensor, attention_factor: float = 1.0) -> Tensor:
    """Read each pair ``(x_{2i}, x_{2i+1})`` as ``x_{2i} + i * x_{2i+1}``, and multiply it by its phasor.

    The pairs are those of ``rotate_adjacent``, so the result is the same up to rounding.

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
    rotated = pairs * rotary_phasors(angles, attention_factor).unsqueeze(1)
    return torch.view_as_real(rotated).flatten(-2).to(x.dtype)  # [..., head_dim/2, 2] -> [..., head_dim]
