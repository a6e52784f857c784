"""Lets torch's Python code exchange a tensor's data between the CPU and the second device, as for a GPU.

torch's own functions would allocate a storage, and only the CPU can do that here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from .absent import PICKLED, NotSimulated
from .backend import is_here

_data = cast(property, torch._C.TensorBase.data)
_deepcopy = cast(Callable[..., Tensor], Tensor.__deepcopy__)
_reduce = cast(Callable[..., Any], Tensor.__reduce_ex__)
_is_compatible = torch._has_compatible_shallow_copy_type


def install() -> None:
    """Replace torch's functions by those below."""
    torch._has_compatible_shallow_copy_type = _can_exchange
    Tensor.data = property(_data.__get__, set_data)  # type: ignore[assignment]
    Tensor.__deepcopy__ = _copied  # type: ignore[method-assign]
    Tensor.__reduce_ex__ = _pickled  # type: ignore[method-assign]


def _can_exchange(input: Tensor, from_: Tensor) -> bool:
    """Whether ``Module.to`` may give a parameter the data of ``from_``; if not, it replaces the parameter."""
    if is_here(input.device) != is_here(from_.device):
        return bool(cast(Any, input)._use_count() == 1)  # no graph holds the parameter
    return _is_compatible(input, from_)


def set_data(tensor: Tensor, value: Tensor) -> None:
    """``tensor.data = value``, also between two devices, as torch allows it for a CPU and a GPU."""
    if is_here(tensor.device) == is_here(value.device):
        _data.__set__(tensor, value)
        return
    gradient = tensor.grad if tensor.is_leaf else None
    stand_in = value.detach().requires_grad_(tensor.requires_grad)
    cast(Any, torch._C)._swap_tensor_impl(tensor, stand_in)
    if gradient is not None:
        tensor.grad = gradient.to(tensor.device)


def _copied(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor's ``copy.deepcopy``, also on this device."""
    if not is_here(tensor.device):
        return _deepcopy(tensor, memo)
    if id(tensor) not in memo:
        if not tensor.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
            )
        memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return cast(Tensor, memo[id(tensor)])


def _pickled(tensor: Tensor, protocol: Any) -> Any:
    """What ``pickle`` and ``copy.copy`` ask for; on this device, torch would read storages that only the CPU has."""
    if is_here(tensor.device):
        raise NotSimulated(PICKLED)
    return _reduce(tensor, protocol)
