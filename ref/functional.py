"""Task 4, first part: the rotation that puts positions into queries and keys."""

import torch
from torch import Tensor


def apply_rotary_pos_emb(input: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair of features ``(x_i, x_{i + hd/2})`` by the angle of its position.

    The rotation is by ``+angle``::

        y_i        = x_i * cos_i - x_{i + hd/2} * sin_i
        y_{i+hd/2} = x_{i + hd/2} * cos_i + x_i * sin_i

    Args:
        input: ``[b, s, nh, hd]``, any float dtype, ``hd`` even. Not modified.
        cos: ``[s, hd]``, cosines of the angles; both halves of the last dimension hold the same values.
        sin: ``[s, hd]``, sines of the angles, likewise. The tables' dtype may differ from the input's;
            where they are on another device, torch may refuse.

    Returns:
        ``[b, s, nh, hd]``, with the dtype and device of ``input``.

    Source:
        Su et al., RoFormer, section 3.4.2, arXiv:2104.09864; pairs as in the Hugging Face layout of Llama's weights.
    """
    cos, sin = (table.to(input.device).unsqueeze(1) for table in (cos, sin))  # [s, 1, hd], to broadcast over heads
    first, second = input.chunk(2, dim=-1)
    rotated_half = torch.cat((-second, first), dim=-1)  # [b, s, nh, hd], each pair turned by 90 degrees
    return (input * cos + rotated_half * sin).to(input.dtype)
