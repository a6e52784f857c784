"""RoPE in more than one dimension: each pair follows one axis, such as time, height or width (M-RoPE)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .angles import rotary_angles


def axis_of_pairs(sections: Sequence[int], *, interleaved: bool = False) -> Tensor:
    """Which axis each pair follows.

    In one block after another, the first axis has all the fast pairs and the last axis all the slow ones. Interleaved,
    the axes take turns, so that each has pairs of every speed; pairs left over follow axis 0.

    Args:
        sections: How many pairs each axis has; they add up to ``head_dim/2``.
        interleaved: Whether the axes take turns, as in Qwen3-VL, or follow in blocks, as in Qwen2-VL.

    Returns:
        ``[head_dim/2]``, int64.
    """
    blocks = torch.repeat_interleave(torch.arange(len(sections)), torch.tensor(sections))
    if not interleaved:
        return blocks
    pairs = torch.arange(len(blocks))
    turn = pairs % len(sections)
    limit = torch.tensor(sections)[turn] * len(sections)
    return turn.where(pairs < limit, torch.zeros_like(turn))


def multi_axis_angles(positions: Tensor, inverse_frequencies: Tensor, axes: Tensor) -> Tensor:
    """The angle of every token and pair: its position on the axis of the pair, times the frequency of the pair.

    A token whose positions agree on all axes, as those of text do, is rotated as by plain RoPE.

    Args:
        positions: ``[axes, seq]``, any integer or float dtype.
        inverse_frequencies: ``[head_dim/2]``, radians per position.
        axes: ``[head_dim/2]``, from ``axis_of_pairs``.

    Returns:
        ``[seq, head_dim/2]``, radians.

    Source:
        Wang et al., Qwen2-VL, section 2.1, arXiv:2409.12191v2; ``recomposition_frequencies`` in transformers v5.23.0,
        models/qwen2_vl/modeling_qwen2_vl.py and models/qwen3_vl/modeling_qwen3_vl.py.
    """
    every = torch.stack([rotary_angles(along, inverse_frequencies) for along in positions])  # [axes, seq, head_dim/2]
    return every[axes, :, torch.arange(len(axes))].T
