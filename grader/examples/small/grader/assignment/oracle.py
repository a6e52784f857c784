"""Oracles: what the contract asks for, in float64 on the CPU, each with the scale that rounding is measured by."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def attention(x: Tensor, weights: Mapping[str, Tensor], heads: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Causal self-attention of ``x: [b, s, h]``, and the sum of the absolute terms that each output adds up.

    Args:
        x: The input.
        weights: ``query``, ``key``, ``value`` and ``output``, ``[h, h]`` each.
        heads: How many.
        base: Of the angles.
    """
    projected = (x.double() @ weights[name].double().mT for name in ("query", "key", "value"))
    query, key, value = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in projected)  # [b, nh, s, hd]
    out = weights["output"].double()
    scores = turned(query, base) @ turned(key, base).mT / query.shape[-1] ** 0.5  # [b, nh, s, s]
    shares: Tensor = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)

    def joined(values: Tensor) -> Tensor:
        out_of_heads: Tensor = (shares @ values).transpose(1, 2).flatten(-2)  # [b, s, h]
        return out_of_heads

    return joined(value) @ out.mT, joined(value.abs()) @ out.abs().mT


def turned(x: Tensor, base: float) -> Tensor:
    """``[b, nh, s, hd]`` with each pair ``(x_i, x_{i + hd/2})`` turned by its angle, as complex numbers."""
    half = x.shape[-1] // 2
    theta = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.outer(torch.arange(x.shape[-2], dtype=torch.float64), theta)  # [s, hd/2]
    pairs = torch.complex(x[..., :half], x[..., half:]) * torch.exp(1j * angles)
    return torch.cat((pairs.real, pairs.imag), dim=-1)


def swiglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    """``(silu(x gate^T) * (x up^T)) down^T`` of ``x: [b, s, h]``, and the sum of the absolute terms of each output."""
    x, gate, up, down = (tensor.double() for tensor in (x, gate, up, down))
    opened = x @ gate.mT
    inner = opened * torch.sigmoid(opened) * (x @ up.mT)  # [b, s, f]
    most = (x.abs() @ gate.abs().mT) * (x.abs() @ up.abs().mT)
    return inner @ down.mT, most @ down.abs().mT
