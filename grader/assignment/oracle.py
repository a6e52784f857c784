"""Oracles: what the contract asks for, computed in float64 on the CPU from the stored inputs."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.testing import kept


@kept
def rms_norm(x: Tensor, gamma: Tensor, group_size: int, eps: float) -> Tensor:
    """Grouped RMSNorm of ``x: [b, s, h]`` with ``gamma: [h]``, float64."""
    groups: Tensor = x.double().unflatten(-1, (-1, group_size))  # [b, s, h/gz, gz]
    root = torch.sqrt(groups.square().mean(-1, keepdim=True) + eps)
    return (groups / root).flatten(-2) * gamma.double()


@kept
def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the pairs ``(x_i, x_{i+hd/2})`` of ``x: [b, s, nh, hd]`` by tables ``[s, hd]``, float64."""
    x, cos, sin = x.double(), cos.double().unsqueeze(1), sin.double().unsqueeze(1)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def pair_norm(x: Tensor) -> Tensor:
    """``hypot(x_i, x_{i+hd/2})`` for every element of ``x``, float64: the scale of a rotation's rounding."""
    first, second = x.double().chunk(2, dim=-1)
    norm = torch.hypot(first, second)
    return torch.cat((norm, norm), dim=-1)


@kept
def ntk_angles(dim: int, base: float, ratio: float, positions: int) -> Tensor:
    """Angles ``[positions, dim/2]`` of rotary embedding on the base ``base * ratio^(dim/(dim-2))``, float64."""
    scaled = float(base) * float(ratio) ** (dim / (dim - 2))
    theta = scaled ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.outer(torch.arange(positions, dtype=torch.float64), theta)


def smallest_even_ratio(length: int, max_seq_len: int) -> int:
    """The smallest even ``k`` with ``max_seq_len * k >= length``."""
    ratio = 2
    while max_seq_len * ratio < length:
        ratio += 2
    return ratio
