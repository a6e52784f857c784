"""The same numbers on the CPU and on the simulated device, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.shared import second_device

HERE = second_device.DEVICE


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    """For a file that imports it, the simulated device is there."""
    second_device.install()


def maker(device: str) -> Callable[..., Tensor]:
    """Gives tensors with the same numbers on either device."""
    numbers = count()

    def make(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        source = torch.Generator().manual_seed(next(numbers))
        return torch.randn(shape, generator=source).to(dtype).to(device)

    return make


def assigned(x: Tensor, where: Any, value: Any) -> Tensor:
    """A copy with a value written into a part of it."""
    result = x.clone()
    result[where] = value
    return result


def leaves(value: Any) -> Iterator[Tensor]:
    """The tensors in what a function gave."""
    if isinstance(value, Tensor):
        yield value
    else:
        for item in value:
            yield from leaves(item)


def assert_same(there: Any, on_cpu: Any, device: str = HERE) -> None:
    """Require the CPU's numbers, on the other device; torch takes other steps for some operations, and rounds there."""
    for tensor, expected in zip(leaves(there), leaves(on_cpu), strict=True):
        assert str(tensor.device) in (device, "cpu" if tensor.dim() == 0 else device)
        assert (tensor.dtype, tensor.shape) == (expected.dtype, expected.shape)
        assert torch.allclose(tensor.detach().cpu(), expected.detach(), rtol=1e-5, atol=1e-6)
