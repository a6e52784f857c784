"""Task 1: inputs that show one mistake and hide the others, and the comparison that its tests share."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

from grader.judge import oracle
from grader.judge.cases import normal, signs
from grader.judge.compare import DTYPES, check_close, forward_limit, name
from grader.judge.student import Student, StudentModule
from ref.modeling import GroupRMSNorm

# (b, s, h, gz), the smallest first: it is what a student reads. Several groups, one, single features, large ones; never
# gz^2 = h, where size and number agree.
GROUPINGS = ((1, 1, 6, 2), (2, 2, 6, 1), (2, 3, 24, 4), (2, 5, 16, 16), (2, 2, 1024, 256))
gamma_dtypes = pytest.mark.parametrize("gamma_dtype", DTYPES, ids=lambda dtype: f"gamma_{name(dtype)}")


def construct(student: Student, group_size: int, gamma: Tensor, device: str, eps: float | None = None) -> StudentModule:
    """The student's module with the given gamma; ``eps`` only where a case is about it.

    Ones are assigned as a number, which fits a gamma of any shape: its shape is judged elsewhere.
    """
    arguments = {"hidden_size": len(gamma), "group_size": group_size, "dtype": gamma.dtype, "device": device}
    if eps is not None:
        arguments["eps"] = eps
    return student.GroupRMSNorm(**arguments).assign(1.0 if bool((gamma == 1).all()) else gamma)


def check_output(output: Tensor, x: Tensor, gamma: Tensor, group_size: int, eps: float, device: str) -> None:
    """Compare with the oracle, allowing what the reference needs on the same device."""
    expected = oracle.rms_norm(x, gamma, group_size, eps)
    reference = GroupRMSNorm(len(gamma), group_size, eps, dtype=gamma.dtype, device=device)
    with torch.no_grad():
        reference.gamma.copy_(gamma)
        limit = forward_limit(reference(x.to(device)), expected, expected.abs())
    what = f"{name(x.dtype)} output for group_size={group_size}, eps={eps:g}"
    check_close(output, expected, expected.abs(), x.dtype, limit, what)


def grouped_input(seed: int, shape: tuple[int, int, int, int], dtype: torch.dtype) -> Tensor:
    """Groups of clearly different scale, so large that eps does not matter.

    In 16 bits every feature of a group has the same power-of-two magnitude, which any arithmetic handles exactly.
    """
    batch, seq, hidden, group_size = shape
    scales = torch.exp2(torch.arange(hidden // group_size) % 5).repeat_interleave(group_size)  # [h]
    if dtype is torch.float32:
        return normal(seed, "groups", shape=(batch, seq, hidden)) * scales * 1024
    return (signs(seed, "groups", shape=(batch, seq, hidden)) * scales).to(dtype)


def flat_tokens(seed: int, magnitudes: list[float], hidden: int, dtype: torch.dtype) -> Tensor:
    """Tokens whose features share one magnitude, with balanced signs: their root mean square is that of any group."""
    pattern = torch.tensor([1.0, -1.0]).repeat(hidden // 2)  # [h], mean zero over every consecutive group
    flip = signs(seed, "flat", shape=(len(magnitudes), 1))
    tokens = (torch.tensor(magnitudes).unsqueeze(-1) * pattern * flip).to(dtype)  # [s, h]
    return torch.stack((tokens, -tokens))  # [2, s, h]


def group_agnostic(values: Tensor) -> Tensor:
    """Lay ``[b, s, 4]`` out over 16 features like a Latin square: groups of 4 in a row, 4 apart, or all 16 agree."""
    order = (torch.arange(4).unsqueeze(0) + torch.arange(4).unsqueeze(1)) % 4  # [4, 4]
    return values[..., order.flatten()]  # [b, s, 16]


@cache
def safe_rounding_case(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Input, power-of-two gamma, correctly rounded output, and where float32 arithmetic cannot round otherwise."""
    x = group_agnostic(normal(seed, "rounding", shape=(8, 16, 4)) * 64).to(dtype)  # so large that eps does not matter
    gamma = torch.exp2(torch.arange(16) % 3)
    exact = oracle.rms_norm(x, gamma, 4, 1e-5)
    margin = 2.0**-19 * exact.abs()  # a few float32 roundings
    rounded = exact.to(dtype)
    safe = ((exact - margin).to(dtype) == rounded) & ((exact + margin).to(dtype) == rounded)
    return x, gamma, rounded, safe
