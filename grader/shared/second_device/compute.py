"""Every operation on the second device: the CPU does it on the same bytes, after the checks that a GPU makes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, cast

import torch
from torch import Tensor

from .backend import DEVICE, NAME, NOT_DENSE, PICKLED, RESIZED, NotSimulated, is_here, lacks, stream_of

_DLPACK = {"cpu": 1, NAME: 12}  # kDLCPU and kDLExtDev of dlpack.h
_CPU_KERNEL = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_FACTORIES = ("arange", "arange.start", "arange.start_step", "eye", "eye.m", "full", "linspace", "ones", "zeros")
_CONVOLUTIONS = ("convolution", "convolution_backward")
_NUMBERS = frozenset((bool, int, float, complex))
_MAY_STAY_ON_THE_CPU = ("indices",)  # of x[indices]: for a GPU, torch moves them itself, too
_is_composite = torch._C._dispatch_has_kernel_for_dispatch_key
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_number_at, _AFTER_POINTER = ctypes.c_int32.from_address, ctypes.sizeof(ctypes.c_void_p)
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

_data = cast(property, torch._C.TensorBase.data)
_deepcopy = cast(Callable[..., Tensor], Tensor.__deepcopy__)
_reduce = cast(Callable[..., Any], Tensor.__reduce_ex__)
_is_compatible = torch._has_compatible_shallow_copy_type


class _Operation:
    """Facts about an operation, found out once, since each takes several look-ups in torch's objects."""

    def __init__(self, op: torch._ops.OpOverload) -> None:
        schema = op._schema
        full_name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
        aliases = [returned.alias_info for returned in schema.returns]
        self.name = schema.name.removeprefix("aten::")
        self.lacking = full_name if lacks(full_name) else ""  # where the CPU has no kernel for it
        self.arguments = tuple(argument.name for argument in schema.arguments)
        # Arguments that are tensors; a number may be given for one.
        self.tensors = frozenset(one.name for one in schema.arguments if one.type.kind() == "TensorType")
        self.is_view = any(alias is not None and not alias.is_write for alias in aliases)  # of an argument's storage
        self.writes = schema.is_mutable  # to an argument, which it may resize
        self.draws = "generator" in self.arguments
        self.redispatch: Callable[..., Any] = op._handle.redispatch_boxed  # to the kernel of a dispatch key
        self.with_numbers = op.overloadpacket  # the overload that fits, where a number is given for a tensor


_known = cache(_Operation)


def fallback(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Do any operation on this device."""
    return _compute(_known(op), *args, **kwargs)


def direct() -> Iterator[tuple[torch._ops.OpOverload, Callable[..., Any]]]:
    """The operations that have a function of their own, since the fallback would take two or three times as long.

    These are the most common ones, and those that torch would compose of other operations here.
    """
    yield torch.ops.aten.empty.memory_format, _empty
    yield torch.ops.aten.empty_strided.default, _empty_strided
    yield torch.ops.aten._copy_from.default, _copy_across
    yield torch.ops.aten.resize_.default, _resize
    for full_name in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full_name.partition("::")
        if namespace != "aten":
            continue  # another library's own
        if name in _FACTORIES + _CONVOLUTIONS or _is_composite(full_name, "CompositeExplicitAutogradNonFunctional"):
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            yield op, partial(_compute, _known(op))
    # The same gradient, but dense: this device has no sparse tensors.
    yield torch.ops.aten.embedding_sparse_backward.default, torch.ops.aten.embedding_dense_backward.default


def _compute(operation: _Operation, *args: Any, **kwargs: Any) -> Any:
    """Check that all tensors are on this device, then let the CPU do the operation on the same bytes."""
    if operation.lacking:
        raise NotSimulated(operation.lacking)
    if operation.is_view:
        return operation.redispatch(_CPU_KERNEL, *args, **kwargs)  # a view keeps its tensor's storage and device
    ours: list[tuple[Tensor, Tensor]] = []  # each tensor of this device, and what stands for it on the CPU
    by_number, on_the_cpu = False, []
    for name, value in zip(operation.arguments, args, strict=False):
        if type(value) in _NUMBERS:
            by_number = by_number or name in operation.tensors
            on_the_cpu.append(value)
        else:
            on_the_cpu.append(_lower(value, name, operation.name, ours))
    for name, value in kwargs.items():
        kwargs[name] = _lower(value, name, operation.name, ours)
    if kwargs.get("device") is not None:
        kwargs["device"] = "cpu"
    if operation.draws:
        kwargs["generator"] = stream_of(kwargs.get("generator"))
    try:
        if by_number:  # torch finds the overload that takes a number
            result = operation.with_numbers(*on_the_cpu, **kwargs)
        else:
            result = operation.redispatch(_CPU_KERNEL, *on_the_cpu, **kwargs)
    except RuntimeError as error:
        if "storage that is not resizable" in str(error):  # torch's words: a stand-in shares the bytes of its tensor
            raise NotSimulated(RESIZED) from error
        raise
    if operation.writes:
        for tensor, stand_in in ours:
            if stand_in.shape != tensor.shape:  # the operation has resized it, as it may an `out`
                set_data(tensor, _relabelled(stand_in.clone(), NAME))
    return _lift(result, ours)


def _empty(
    size: list[int], *, dtype: torch.dtype | None = None, memory_format: torch.memory_format | None = None, **_: Any
) -> Tensor:
    """What ``torch.empty`` does here."""
    empty = torch.empty(size, dtype=dtype, device="cpu", memory_format=memory_format or torch.contiguous_format)
    return _relabelled(empty, NAME)


def _empty_strided(size: list[int], stride: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """What ``torch.empty_strided`` does here."""
    return _relabelled(torch.empty_strided(size, stride, dtype=dtype, device="cpu"), NAME)


def _resize(tensor: Tensor, size: list[int], *, memory_format: torch.memory_format | None = None) -> Tensor:
    """What ``resize_`` does here: the elements move to bytes of their own, which views of the tensor do not share."""
    resized = torch.empty(0, dtype=tensor.dtype) if not tensor.numel() else _relabelled(tensor, "cpu").clone()
    resized.resize_(size, memory_format=memory_format)
    if resized.shape != tensor.shape:
        set_data(tensor, _relabelled(resized.clone(), NAME))
    return tensor


def _relabelled(tensor: Tensor, device: str) -> Tensor:
    """A tensor on ``device`` that shares the bytes of ``tensor``."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise NotSimulated(NOT_DENSE)
    capsule = torch._C._to_dlpack(tensor)
    # The capsule points to struct { void *data; int32_t device_type; … }
    _number_at(_pointer_in(capsule, b"dltensor") + _AFTER_POINTER).value = _DLPACK[device]
    return torch._C._from_dlpack(capsule)


def _lower(value: Any, argument: str, operation: str, ours: list[tuple[Tensor, Tensor]]) -> Any:
    """An argument with its tensors on the CPU; each tensor and its stand-in are appended to ``ours``.

    Raises:
        RuntimeError: As for a GPU, if a tensor is on another device; scalars (no dimension) and indices may be.
    """
    if isinstance(value, Tensor):
        if not (value.is_cpu or value.is_meta):  # quicker than to ask for the device
            # A tensor without elements has no bytes to share; as an `out` it may be resized.
            stand_in = _relabelled(value, "cpu") if value.numel() else torch.empty(value.shape, dtype=value.dtype)
            ours.append((value, stand_in))
            return stand_in
        if value.dim() and argument not in _MAY_STAY_ON_THE_CPU:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {argument} is on {value.device}, different "
                f"from other tensors on {DEVICE} (when checking argument in method {operation})"
            )
    elif type(value) in (list, tuple):
        return [_lower(item, argument, operation, ours) for item in value]
    return value


def _lift(value: Any, ours: list[tuple[Tensor, Tensor]]) -> Any:
    """A result with its tensors on this device; a result that is an argument's stand-in becomes that argument."""
    if isinstance(value, Tensor):
        for tensor, stand_in in ours:
            if stand_in is value:
                return tensor
        return _relabelled(value, NAME)
    return type(value)(_lift(item, ours) for item in value) if type(value) in (list, tuple) else value


def _copy_across(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy within this device, to it, or from it: the only operation between devices."""
    del non_blocking  # a copy is done when its call returns
    if source.numel():
        here, there = (one if one.device.type == "cpu" or not one.numel() else _bare(one) for one in (source, target))
        there.copy_(here)
    return target


def _bare(tensor: Tensor) -> Tensor:
    """The same bytes as a CPU tensor, with the lazy conjugate and negative bits, which DLPack cannot carry."""
    plain = tensor.conj() if tensor.is_conj() else tensor
    plain = plain._neg_view() if plain.is_neg() else plain
    same = _relabelled(plain, "cpu")
    same = same._neg_view() if tensor.is_neg() else same
    return same.conj() if tensor.is_conj() else same


# ── A tensor's data, exchanged with the CPU ─────────────────────────────────────────────────────────────────────────


def exchange_data() -> None:
    """Let torch's Python code exchange a tensor's data between the CPU and this device, as for a GPU.

    torch's own functions, which these replace, would allocate a storage, and only the CPU can do that here.
    """
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
