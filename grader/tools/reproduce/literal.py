"""Values as Python source: short for a person to read, or whole for a script to run."""

from __future__ import annotations

import base64
import math
import textwrap
import zlib
from typing import Any

import torch
from torch import Tensor

from ...sandbox.second_device.names import is_here

FEW = 2000  # elements that a script spells out; more are packed
SHOWN = 8  # elements that a person is shown
WIDTH = 110
DIGITS = {torch.float64: 17, torch.complex128: 17}  # that give the same number back; 9 for all smaller ones


def brief(value: Any) -> str:
    """A value in a few words; a tensor by its dtype, its shape and its first elements."""
    if not isinstance(value, Tensor):
        return source(value)
    kind = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    first = value.detach().cpu().flatten()[:SHOWN].tolist()
    more = ", …" * (value.numel() > SHOWN)
    return f"<{kind}: {', '.join(_number(own, 4) for own in first)}{more}>"


def source(value: Any) -> str:
    """A value that is no tensor, or holds none, as an expression.

    A second device is called ``cuda``, as the simulated one is known nowhere else.
    """
    if isinstance(value, str) and is_here(value):
        return repr("cuda")
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(source, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {source(item)}' for key, item in value.items())}}}"
    return repr(value)


def tensor_source(tensor: Tensor) -> str:
    """A tensor as an expression that gives exactly the same one; its device apart."""
    plain = tensor.detach().cpu()
    if plain.numel() > 1 and bool((plain == plain.flatten()[0]).all()):
        return f"torch.full({list(plain.shape)}, {_number(plain.flatten()[0].item(), 17)}, dtype={plain.dtype})"
    shape, dense = list(plain.shape), plain.is_contiguous()
    if not dense:  # expanded or transposed: what lies in memory, then how it is looked at
        size = 1 + sum((size - 1) * step for size, step in zip(shape, plain.stride(), strict=True))
        flat = plain.as_strided([size], [1])
        return f"{_flat(flat)}.as_strided({shape}, {list(plain.stride())})"
    return f"{_flat(plain.flatten())}.reshape({shape})" if shape != [plain.numel()] else _flat(plain.flatten())


def _flat(flat: Tensor) -> str:
    """One dimension."""
    if flat.numel() <= FEW:
        numbers = ", ".join(_number(own, DIGITS.get(flat.dtype, 9)) for own in flat.tolist())
        return f"torch.tensor([{_wrapped(numbers)}], dtype={flat.dtype})"
    packed = base64.b64encode(zlib.compress(bytes(flat.contiguous().view(torch.uint8).tolist()))).decode()
    return f'unpacked("{packed}", {flat.dtype})'


def _wrapped(numbers: str) -> str:
    """Numbers on one line, or indented on several."""
    if len(numbers) < WIDTH // 2:
        return numbers
    return "\n" + textwrap.fill(numbers, WIDTH, initial_indent="    ", subsequent_indent="    ") + "\n"


def _number(own: complex | float | int | bool, digits: int) -> str:
    """A number with so many digits, which for as many as its dtype holds gives the same number back."""
    if isinstance(own, float):
        return f"{own:.{digits}g}" if math.isfinite(own) else f'float("{own}")'
    return repr(own)
