"""How much the answers of two correct solutions may differ; used to compare mutants and styles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

ULPS: Final = {torch.float32: 16.0, torch.float16: 4.0, torch.bfloat16: 4.0, torch.float64: 16.0}
Operation = tuple[str, Mapping[str, Any]]  # as a worker performs it


@dataclass(frozen=True)
class Probe:
    """A request, and how far two answers may differ.

    Attributes:
        operations: What a worker does; the last gives the answer.
        scale: What rounding is relative to: the ``value``, the length of its ``pair``, ``all``; none if ``exact``.
        dtypes: Those that take part; the coarsest gives the ulp.
        angles: For rotations, ``[s, hd / 2]``: the larger an angle, the more its rounding.
        draws: Other values that a drawn parameter may have.
        sizes: What the message of a refusal names.
    """

    operations: Sequence[Operation]
    scale: str = "value"
    dtypes: tuple[torch.dtype, ...] = ()
    angles: Tensor | None = None
    draws: tuple[Tensor, ...] = ()
    sizes: tuple[int, ...] = ()


def alike(probe: Probe, right: Any, other: Any) -> bool:
    """Whether two replies agree, as far as the contract asks for it."""
    if probe.sizes:
        error = other.get("error", {"types": []})
        refused = {"AssertionError", "ValueError"} & {*error["types"]}
        return bool(refused) and all(str(size) in error["message"] for size in probe.sizes)
    if "error" in right:
        return True  # the simulated device lacks something that the original uses
    return "error" not in other and _same(probe, right["value"], other["value"])


def _same(probe: Probe, right: Any, other: Any) -> bool:
    asked = probe.operations[-1][0]
    if not isinstance(other, type(right)):
        return False
    match right:
        case Tensor():
            return any(_close(probe, one, other) for one in (right, *(d.to(right.device) for d in probe.draws)))
        case {"argument_gradients": of_arguments, "parameter_gradients": of_parameters}:  # tables need no gradient
            others = other["argument_gradients"][:1] + other["parameter_gradients"]
            return _same(probe, of_arguments[:1] + of_parameters, others)
        case dict():
            return all(_same(probe, right[key], other.get(key)) for key in right.keys() - {"name"})
        case [_, *_] if asked == "buffers":  # others may be registered, and the order is free
            tables = [entry for entry in right if entry["value"].dim() == 2]
            return all(any(_same(probe, table, entry) for entry in other) for table in tables)
        case list():
            return len(right) == len(other) and all(_same(probe, *pair) for pair in zip(right, other, strict=True))
    return asked == "state_dict" or bool(right == other)


def _close(probe: Probe, right: Tensor, other: Tensor) -> bool:
    is_table = probe.scale == "exact" or any(draw.dim() == 2 for draw in probe.draws)
    if probe.operations[-1][0] in ("parameters", "backward") and not is_table:
        right, other = right.flatten(), other.flatten()  # the shape of gamma is free
    if (right.dtype, right.device, right.shape) != (other.dtype, other.device, other.shape):
        return False
    right, other = right.cpu(), other.cpu()
    if right.equal(other) or not right.is_floating_point() or probe.scale == "exact":
        return right.equal(other)
    a, b = right.double(), other.double()
    coarsest = max((*probe.dtypes, right.dtype), key=lambda dtype: torch.finfo(dtype).eps)
    room: Any = ULPS[coarsest] * torch.finfo(coarsest).eps
    scale = torch.maximum(a.abs(), b.abs())
    if probe.scale == "pair":
        scale = torch.hypot(*a.chunk(2, -1)).repeat(*[1] * (a.dim() - 1), 2)
    elif probe.scale == "all":
        scale = 4 * scale.max()
    elif probe.draws:  # a mean plus a deviation
        scale = scale + scale.max()
    if probe.angles is not None:
        rounding = 64 * 2**-24 * (1 + probe.angles.double().repeat(1, 2))
        room = room + (rounding if a.dim() == 2 else rounding.unsqueeze(1))
        scale = torch.ones_like(scale) if a.dim() == 2 else scale  # of a table
    return bool(((a - b).abs() <= room * scale + 1e-45).logical_or(a.isnan() & b.isnan()).all())
