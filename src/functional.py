"""Task 4, first part: the rotation that puts positions into queries and keys."""

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
    # TODO(task 4): rotate every pair by its angle.
    raise NotImplementedError("Task 4: apply_rotary_pos_emb")
