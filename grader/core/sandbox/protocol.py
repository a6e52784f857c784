"""The messages between judge and worker: a JSON tree and raw tensor bytes, with a limit on every size.

No pickle and no code is sent. Both sides use this module; the judge treats all that it receives as hostile.

A packed value is ``u32 length | JSON header | tensor bytes``. The header is ``[tree, tensors]``: a tensor in the
tree is an index into the second list, whose entries are ``[dtype, device, shape, stride]``.
"""

from __future__ import annotations

import ctypes
import json
import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.shared.second_device import DEVICE as SECOND_DEVICE

MAX_HEADER_BYTES = 1 << 20
MAX_TENSOR_BYTES = 64 << 20  # all tensors of one message together
MAX_BYTES = MAX_HEADER_BYTES + MAX_TENSOR_BYTES + 8  # of a message on the wire
MAX_TENSORS = 256
MAX_DEPTH = 8
SLICED_OFF = 8  # numbers before a view, as many as a view of another dtype may take for one
MAX_DIMS = 8
MAX_ELEMENTS = 1 << 24  # of all tensors of one message together, counted by their shapes
MAX_TEXT = 1 << 19

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

READY = b"ready"  # a worker's first message
MORE = b"more"  # the replies in the next message are only the first of those to a list
GO_ON, ANEW = b".", b"a"  # what a list of requests begins with: whether the submission is imported anew

TOO_LARGE = "a message that is too large"


class Kind:
    """What became of a request without a value: in the error of a reply, or of a worker that gave no reply."""

    CRASHED = "crashed"  # an exception, or a process that died
    NOT_IMPLEMENTED = "not_implemented"  # a stub
    MISSING = "missing"  # a file or a name that is not in the submission
    UNFIT = "unfit"  # a parameter, an output or an effect that the worker itself finds wrong
    INVALID_REPLY = "invalid_reply"  # a value that the protocol cannot express, or a malformed reply
    MEMORY_EXCEEDED = "memory_exceeded"  # the one error that another process need not have, too
    TIMED_OUT = "timed_out"  # of a worker only: no reply says it


LEAVES = frozenset((type(None), bool, int, float, str))  # of a JSON tree
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


class Entry(NamedTuple):
    """What a header says about one tensor; ``size`` is in bytes, ``offset`` in numbers before the first of a view."""

    dtype: torch.dtype
    device: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    size: int
    elements: int
    offset: int


class ProtocolError(Exception):
    """A message that breaks the rules above; the text says which one."""


def encode(value: Any, tensors: list[Tensor], depth: int = 0) -> Any:
    """Turn ``value`` into a JSON tree, appending its tensors to ``tensors``.

    Raises:
        ProtocolError: For a value that the protocol cannot express; the text names its type.
    """
    if depth > MAX_DEPTH:
        raise ProtocolError(f"a value nested more than {MAX_DEPTH} levels deep")
    kind = type(value)
    if kind is str:
        if len(value) > MAX_TEXT:
            raise ProtocolError(f"a text of {len(value)} characters")
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if kind is list or kind is tuple:
        return {kind.__name__: [encode(item, tensors, depth + 1) for item in value]}
    if kind is dict and not {*map(type, value)} - {str}:
        return {"dict": [[key, encode(item, tensors, depth + 1)] for key, item in value.items()]}
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        tensors.append(_plain(value))
        return {"tensor": len(tensors) - 1}
    if value is None or kind is bool:
        return value
    if kind is int:
        if abs(value) >= 1 << 63:
            raise ProtocolError("an integer of more than 64 bits")
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is torch.dtype and value in DTYPE_NAMES:
        return {"dtype": DTYPE_NAMES[value]}
    raise ProtocolError(f"a value of type {kind.__name__[:80]}")


def _plain(tensor: Tensor) -> Tensor:
    """The tensor without graph, conjugate bit or exotic layout."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise ProtocolError(f"a tensor that is not dense ({tensor.layout})")
    if tensor.dtype not in DTYPE_NAMES:
        raise ProtocolError(f"a tensor of {tensor.dtype}")
    if not (tensor.is_cpu or tensor.is_cuda or str(tensor.device) == SECOND_DEVICE):
        raise ProtocolError(f"a tensor on the device {tensor.device}")
    if tensor.nbytes > MAX_TENSOR_BYTES:
        raise ProtocolError(f"a tensor of shape {list(tensor.shape)}, which is too large")
    plain = tensor.detach()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    if plain.storage_offset() * plain.itemsize + _extent(plain) > plain.untyped_storage().nbytes():
        raise ProtocolError("a tensor that reaches beyond its memory")
    return plain


def decode(tree: Any, tensors: list[Tensor], depth: int = 0) -> Any:
    """The inverse of :func:`encode`.

    Raises:
        ProtocolError: If the tree is not one that :func:`encode` makes.
    """
    kind = type(tree)
    if kind in LEAVES:
        return tree
    if kind is not dict or len(tree) != 1:
        raise ProtocolError("a malformed value")
    ((tag, body),) = tree.items()
    if depth >= MAX_DEPTH and type(body) is list and body:
        raise ProtocolError("nested too deeply")
    if tag == "tensor" and type(body) is int and 0 <= body < len(tensors):
        return tensors[body]
    if tag == "float" and body in ("nan", "inf", "-inf"):
        return float(body)
    if tag == "dtype" and isinstance(body, str) and body in DTYPES:
        return DTYPES[body]
    if type(body) is list and tag in ("list", "tuple"):
        items = [item if type(item) in LEAVES else decode(item, tensors, depth + 1) for item in body]
        return items if tag == "list" else tuple(items)
    if type(body) is list and tag == "dict":
        found = {}
        for pair in body:
            if type(pair) is list and len(pair) == 2 and type(pair[0]) is str:
                key, item = pair
                found[key] = item if type(item) in LEAVES else decode(item, tensors, depth + 1)
        return found
    raise ProtocolError("a malformed value")


def _storage_bytes(dtype: torch.dtype, shape: Sequence[int], stride: Sequence[int]) -> int:
    """Bytes from the first to the last element of a strided tensor; zero when it has no element."""
    if 0 in shape:
        return 0
    last = 0
    for size, step in zip(shape, stride, strict=True):
        last += (size - 1) * step
    return (last + 1) * dtype.itemsize


def _extent(tensor: Tensor) -> int:
    """Bytes from the first to the last element of a tensor."""
    if tensor.is_contiguous():  # nearly all are
        return tensor.nbytes
    return _storage_bytes(tensor.dtype, tensor.shape, tensor.stride())


def payload(tensor: Tensor) -> tuple[list[Any], bytes]:
    """The header entry and the bytes of one tensor; strides are kept, so an expanded input arrives expanded."""
    size, device = _extent(tensor), "cpu" if tensor.is_cpu else str(tensor.device)
    entry = [DTYPE_NAMES[tensor.dtype], device, list(tensor.shape), list(tensor.stride())]
    if tensor.is_cuda:  # the bytes of all others lie in this process's own memory
        tensor = tensor.as_strided([size // tensor.element_size()], [1]).cpu()
    return entry, ctypes.string_at(tensor.data_ptr(), size) if size else b""


def _check_entry(entry: Any) -> Entry:
    """Validate one header entry."""
    if not isinstance(entry, list) or len(entry) != 4:
        raise ProtocolError("a malformed tensor header")
    name, device, shape, stride = entry
    if not isinstance(name, str) or name not in DTYPES or not isinstance(device, str):
        raise ProtocolError("a tensor of an unknown dtype")
    if not isinstance(shape, list) or not isinstance(stride, list) or {*map(type, shape), *map(type, stride)} - {int}:
        raise ProtocolError("a malformed tensor shape")
    return _checked(name, device, tuple(shape), tuple(stride))


@lru_cache(1024)  # of entries that break no rule, and so are small
def _checked(name: str, device: str, shape: tuple[int, ...], stride: tuple[int, ...]) -> Entry:
    if device not in ("cpu", SECOND_DEVICE) and not (
        device.startswith("cuda:") and device[5:].isdecimal() and device.isascii() and len(device) < 8
    ):
        raise ProtocolError("a tensor on an unknown device")
    numbers = (*shape, *stride, 0)
    if len(shape) != len(stride) or len(shape) > MAX_DIMS or min(numbers) < 0 or max(numbers) > MAX_TENSOR_BYTES:
        raise ProtocolError("a malformed tensor shape")
    # Dimensions of size 0 are left out of the product: the others must not overflow either.
    if math.prod(filter(None, shape)) * DTYPES[name].itemsize > MAX_TENSOR_BYTES:
        raise ProtocolError("a tensor that is too large")
    size = _storage_bytes(DTYPES[name], shape, stride)
    offset = 0 if torch.empty_strided(shape, stride, device="meta").is_contiguous() else SLICED_OFF
    return Entry(DTYPES[name], device, shape, stride, size, math.prod(shape), offset)


class Values:
    """A list of values under one header. Values are copied when added, as they may change before they are sent."""

    def __init__(self) -> None:
        """Start with an empty list."""
        self._trees: list[Any] = []
        self._tensors: list[Tensor] = []
        self._payloads: list[tuple[list[Any], bytes]] = []
        self._bytes = 0

    def add(self, value: Any) -> None:
        """Add one value.

        Raises:
            ProtocolError: If the protocol cannot express it, or the message would be too large; it is not added then.
        """
        try:
            tree = encode(value, self._tensors)
            new = list(map(payload, self._tensors[len(self._payloads) :]))
            size = self._bytes + sum(len(data) for _, data in new)
            if len(self._tensors) > MAX_TENSORS or size > MAX_TENSOR_BYTES:
                raise ProtocolError(TOO_LARGE)
        except (ProtocolError, MemoryError):
            del self._tensors[len(self._payloads) :]
            raise
        self._trees.append(tree)
        self._payloads += new
        self._bytes = size

    def packed(self) -> bytes:
        """The list as bytes.

        Raises:
            ProtocolError: If the message is too large.
        """
        return _packed({"list": self._trees}, self._payloads)


def _packed(tree: Any, payloads: Sequence[tuple[list[Any], bytes]]) -> bytes:
    if len(payloads) > MAX_TENSORS or sum(len(data) for _, data in payloads) > MAX_TENSOR_BYTES:
        raise ProtocolError(TOO_LARGE)
    header = _JSON.encode([tree, [entry for entry, _ in payloads]]).encode()
    if len(header) > MAX_HEADER_BYTES:
        raise ProtocolError(TOO_LARGE)
    return b"".join((struct.pack("<I", len(header)), header, *(data for _, data in payloads)))


def pack(value: Any) -> bytes:
    """One value as bytes.

    Raises:
        ProtocolError: If the protocol cannot express it, or it is too large.
    """
    tensors: list[Tensor] = []
    tree = encode(value, tensors)
    return _packed(tree, list(map(payload, tensors)))


def unpack(message: bytes | bytearray | memoryview) -> Any:
    """The inverse of :func:`pack`.

    Raises:
        ProtocolError: If ``message`` breaks a rule of the protocol.
    """
    rest = memoryview(message)

    def read(size: int) -> bytearray:
        nonlocal rest
        if size > len(rest):
            raise ProtocolError("a truncated message")
        part, rest = bytearray(rest[:size]), rest[size:]
        return part

    (length,) = struct.unpack("<I", read(4))
    if length > MAX_HEADER_BYTES:
        raise ProtocolError(TOO_LARGE)
    try:
        tree, entries = json.loads(read(length).decode("utf-8"))
    except (ValueError, TypeError, RecursionError):
        raise ProtocolError("a malformed message") from None
    if not isinstance(entries, list) or len(entries) > MAX_TENSORS:
        raise ProtocolError("too many tensors")
    checked = [_check_entry(entry) for entry in entries]
    if sum(entry.size for entry in checked) > MAX_TENSOR_BYTES:
        raise ProtocolError(TOO_LARGE)
    if sum(entry.elements for entry in checked) > MAX_ELEMENTS:
        raise ProtocolError("a message with too many elements")
    value = decode(tree, [_tensor(entry, read) for entry in checked])
    if rest:
        raise ProtocolError("a message with trailing bytes")
    return value


def _tensor(entry: Entry, read: Callable[[int], bytearray]) -> Tensor:
    """Read the bytes of one tensor into new memory, and give them their shape and device.

    One that is not contiguous becomes a view into a larger tensor, as a slice is: it does not begin where memory does.
    """
    dtype, device, shape, stride, size, _, offset = entry
    data = read(size)
    try:
        if size == 0:
            return torch.empty(shape, dtype=dtype, device=device)
        # A byte other than 0 and 1 is no valid boolean, so booleans are read as numbers and compared with 0.
        flat = torch.frombuffer(data, dtype=torch.uint8 if dtype is torch.bool else dtype)
        flat = flat != 0 if dtype is torch.bool else flat
        flat = torch.cat((flat.new_zeros(offset), flat)) if offset else flat
        return (flat if device == "cpu" else flat.to(device)).as_strided(shape, stride, offset)
    except (RuntimeError, AssertionError):  # a device that this machine does not have
        raise ProtocolError("a tensor on an unknown device") from None
