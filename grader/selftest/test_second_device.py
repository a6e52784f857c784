"""The simulated device against the CPU, operation by operation: after an upgrade of torch, a test here says what broke.

Each function runs on tensors of either device; the results must be the CPU's, on the right device.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import Tensor

from grader.selftest.two_devices import HERE, assert_same, assigned, maker
from grader.selftest.two_devices import installed as installed
from grader.shared import second_device

# Functions of a tensor of shape [2, 3, 8], of every kind that the device treats in its own way; others are in the tests
# of gradients, and what solutions of the assignment are made of is in the variants that are judged there.
OF_ONE_TENSOR: dict[str, Callable[[Tensor], Any]] = {
    "add a number": lambda x: x + 1,
    "arange of its device": lambda x: torch.arange(0, 8, 2, dtype=torch.float32, device=x.device),
    "as_strided": lambda x: x.as_strided((3, 2), (8, 1), 4),
    "assign by mask": lambda x: assigned(x, x > 0, 0.0),
    "assign from the CPU": lambda x: assigned(x, (slice(None), 1), torch.ones(2, 8)),
    "bernoulli of certainties": lambda x: torch.bernoulli((x > 0).float()),
    "bool of a reduction": lambda x: torch.tensor(bool((x > 100).any())),
    "cat": lambda x: torch.cat((x, -x), dim=-1),
    "chunk": lambda x: list(x.chunk(2, dim=-1)),
    "conjugate": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().imag.clone(),
    "conjugate to the CPU": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().cpu().to(x.device),
    "empty, then filled": lambda x: torch.empty(3, 4, device=x.device).fill_(2),
    "group_norm": lambda x: F.group_norm(x.transpose(1, 2), 2),
    "index by CPU ids": lambda x: x.flatten(0, 1)[torch.tensor([[0, 5], [3, 3]])],
    "index by mask": lambda x: x[x > 0],
    "linspace": lambda x: torch.linspace(0, 1, 5, device=x.device),
    "multiply by a tensor that is a number": lambda x: x * torch.tensor(2.0),
    "out": lambda x: torch.mul(x, 2, out=torch.empty(0, device=x.device)),
    "print": lambda x: torch.tensor(len(str(x.cpu())) > 20 and len(str(x)) > 20),
    "promotion": lambda x: x.half() * x.to(torch.bfloat16) + torch.arange(8, device=x.device),
    "rms_norm": lambda x: F.rms_norm(x, (8,), eps=1e-5),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "sort": lambda x: list(x.sort(-1)),
    "to a dtype and back": lambda x: x.to(torch.bfloat16).to(torch.float64),
    "tolist": lambda x: torch.tensor(x.tolist(), device=x.device),
    "view of another dtype": lambda x: x.view(torch.int32) & 1,
    "write through a view": lambda x: _written_through_a_view(x.clone()),
    "nothing in it": lambda x: torch.cat((x[:0], x)).sum() + x[:, :0].sum() + torch.zeros(0, 3, device=x.device).sum(),
    "vmap": lambda x: torch.func.vmap(lambda row: row / row.square().mean().sqrt())(x.flatten(0, 1)),
    "autocast to nothing": lambda x: _in_autocast(x),
    "inference mode": lambda x: _in_inference_mode(x),
    "resize": lambda x: x.clone().resize_(2, 2),
    "fft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
}


def _written_through_a_view(x: Tensor) -> Tensor:
    x.transpose(1, 2)[:, ::2].mul_(3)
    x.view(-1)[1:4].zero_()
    return x


def _in_autocast(x: Tensor) -> Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=False):
        return x @ x.mT


def _in_inference_mode(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return (x * 2).sum(-1).clone()


@pytest.mark.parametrize("name", OF_ONE_TENSOR)
def test_an_operation_gives_what_it_gives_on_the_cpu(name: str) -> None:
    function = OF_ONE_TENSOR[name]
    assert_same(*(function(maker(device)(2, 3, 8)) for device in (HERE, "cpu")))


MISTAKES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sum": lambda x, y: x + y,
    "sum, the other way round": lambda x, y: y + x,
    "matmul": lambda x, y: x @ y.mT,
    "cat": lambda x, y: torch.cat((x, y)),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "mask": lambda x, y: x.masked_fill(y > 0, 0.0),
    "ids for an embedding": lambda x, y: F.embedding((y > 0).long()[0], x),
    "table of an embedding": lambda x, y: F.embedding((x > 0).long()[0], y),
    "assigned values": lambda x, y: x.__setitem__((x > 9,), y[y > 9]),
    "ids for the CPU's tensor": lambda x, y: y[(x[0] > 0).long()],
    "equal": lambda x, y: torch.equal(x, y),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0]),
    "out": lambda x, y: torch.mul(x, 2, out=y),
    "numpy": lambda x, _: x.numpy(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mixed_devices_are_refused_in_the_words_of_torch(name: str) -> None:
    with pytest.raises(
        (RuntimeError, TypeError), match=r"on the same device|indices should be|device type tensor to numpy"
    ):
        MISTAKES[name](torch.ones(3, 3, device=HERE), torch.ones(3, 3))


def test_it_stays_installed_once_and_warns_of_nothing() -> None:
    with warnings.catch_warnings(action="error"):
        second_device.install()
    assert second_device.is_here(torch.ones(1, device=HERE).device)
    assert not second_device.is_here("cpu")


def test_a_torch_that_cannot_take_it_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_device, "_register", lambda: 1 / 0)
    monkeypatch.setattr(getattr(torch, second_device.NAME), "works", False)
    for _ in range(2):  # not even if it is asked for again
        with pytest.raises(second_device.Unavailable, match=r"torch 2.* ZeroDivisionError: division by zero"):
            second_device.install()
