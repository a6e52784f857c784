"""The language between judge and worker: a JSON tree and raw tensor bytes, bounded in every direction.

No pickle and no code crosses the border. Both sides use this module; the judge treats all it receives as hostile.

A message on the wire is ``u32 length | JSON header | tensor bytes``. The header is ``[tree, tensors]``: tensors in the
tree are references into the second list, whose entries are ``[dtype, device, shape, stride]``.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import select
import struct
import time
from typing import Any

import torch
from torch import Tensor

MAX_HEADER_BYTES = 1 << 20
MAX_TENSOR_BYTES = 64 << 20  # all tensors of one message together
MAX_TENSORS = 256
MAX_DEPTH = 8
MAX_DIMS = 16
MAX_TEXT = 1 << 19

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


class ProtocolError(Exception):
    """A message that breaks the rules above; the text says which one."""


class PeerClosed(Exception):
    """The other end is gone."""


class DeadlineExceeded(Exception):
    """The other end did not answer, or did not read, in time."""


# ── Values ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode(value: Any, tensors: list[Tensor], depth: int = 0) -> Any:
    """Turn ``value`` into a JSON tree, moving its tensors to ``tensors``.

    Raises:
        ProtocolError: For a value that has no place in the protocol; the text names its type.
    """
    if depth > MAX_DEPTH:
        raise ProtocolError(f"a value nested more than {MAX_DEPTH} levels deep")
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind is int:
        if abs(value) >= 1 << 63:
            raise ProtocolError("an integer of more than 64 bits")
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is str:
        if len(value) > MAX_TEXT:
            raise ProtocolError(f"a text of {len(value)} characters")
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        tensors.append(_plain(value))
        return {"tensor": len(tensors) - 1}
    if kind is torch.dtype and value in DTYPE_NAMES:
        return {"dtype": DTYPE_NAMES[value]}
    if kind in (list, tuple):
        return {"list": [encode(item, tensors, depth + 1) for item in value]}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": [[key, encode(item, tensors, depth + 1)] for key, item in value.items()]}
    raise ProtocolError(f"a value of type {kind.__name__[:80]}")


def _plain(tensor: Tensor) -> Tensor:
    """The tensor without graph, conjugate bit or exotic layout."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise ProtocolError(f"a tensor that is not dense ({tensor.layout})")
    if tensor.dtype not in DTYPE_NAMES:
        raise ProtocolError(f"a tensor of {tensor.dtype}")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ProtocolError(f"a tensor on the device {tensor.device}")
    if tensor.numel() * tensor.element_size() > MAX_TENSOR_BYTES:
        raise ProtocolError(f"a tensor of shape {list(tensor.shape)}, which is too large")
    plain = tensor.detach().resolve_conj().resolve_neg()
    end = plain.storage_offset() * plain.itemsize + _storage_bytes(plain.dtype, list(plain.shape), list(plain.stride()))
    if end > plain.untyped_storage().nbytes():
        raise ProtocolError("a tensor that reaches beyond its memory")
    return plain


def decode(tree: Any, tensors: list[Tensor], depth: int = 0) -> Any:
    """Inverse of :func:`encode`. Lists and tuples both come back as lists.

    Raises:
        ProtocolError: If the tree is not one that :func:`encode` makes.
    """
    if depth > MAX_DEPTH:
        raise ProtocolError("nested too deeply")
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ProtocolError("a malformed value")
    ((tag, body),) = tree.items()
    if tag == "tensor" and type(body) is int and 0 <= body < len(tensors):
        return tensors[body]
    if tag == "float" and body in ("nan", "inf", "-inf"):
        return float(body)
    if tag == "dtype" and isinstance(body, str) and body in DTYPES:
        return DTYPES[body]
    if tag == "list" and isinstance(body, list):
        return [decode(item, tensors, depth + 1) for item in body]
    if tag == "dict" and isinstance(body, list):
        pairs = (pair for pair in body if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str))
        return {key: decode(item, tensors, depth + 1) for key, item in pairs}
    raise ProtocolError("a malformed value")


# ── Tensors as bytes ────────────────────────────────────────────────────────────────────────────────────────────────


def _storage_bytes(dtype: torch.dtype, shape: list[int], stride: list[int]) -> int:
    """Bytes from the first to the last element of a strided tensor; zero when it has no element."""
    if 0 in shape:
        return 0
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return (last + 1) * dtype.itemsize


def _payload(tensor: Tensor) -> tuple[list[Any], bytes]:
    """The header entry and the bytes of one tensor, strides kept (an expanded input arrives expanded)."""
    shape, stride = list(tensor.shape), list(tensor.stride())
    size = _storage_bytes(tensor.dtype, shape, stride)
    entry = [DTYPE_NAMES[tensor.dtype], str(tensor.device), shape, stride]
    if tensor.device.type != "cpu":
        tensor = tensor.as_strided([size // tensor.element_size()], [1]).cpu()
    return entry, ctypes.string_at(tensor.data_ptr(), size) if size else b""


def _check_entry(entry: Any) -> tuple[torch.dtype, str, list[int], list[int], int]:
    """Validate one header entry and add its size in bytes."""
    if not isinstance(entry, list) or len(entry) != 4:
        raise ProtocolError("a malformed tensor header")
    name, device, shape, stride = entry
    if not isinstance(name, str) or name not in DTYPES or not isinstance(device, str):
        raise ProtocolError("a tensor of an unknown dtype")
    if device != "cpu" and not (
        device.startswith("cuda:") and device[5:].isdecimal() and device.isascii() and len(device) < 8
    ):
        raise ProtocolError("a tensor on an unknown device")
    for numbers in (shape, stride):
        if not isinstance(numbers, list) or len(numbers) > MAX_DIMS or len(shape) != len(stride):
            raise ProtocolError("a malformed tensor shape")
        if any(type(n) is not int or not 0 <= n <= MAX_TENSOR_BYTES for n in numbers):
            raise ProtocolError("a malformed tensor shape")
    # Empty dimensions do not count: the strides of the others must not overflow either.
    if math.prod(size for size in shape if size) * DTYPES[name].itemsize > MAX_TENSOR_BYTES:
        raise ProtocolError("a tensor that is too large")
    return DTYPES[name], device, shape, stride, _storage_bytes(DTYPES[name], shape, stride)


# ── The channel ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Channel:
    """One end of a stream socket, speaking whole messages with absolute deadlines."""

    def __init__(self, fd: int) -> None:
        """Take over the file descriptor ``fd``."""
        self._fd = fd
        os.set_blocking(fd, False)
        self._poll = select.poll()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)

    def send(self, value: Any, deadline: float | None = None) -> None:
        """Send one message before ``deadline`` (``time.monotonic`` seconds).

        Raises:
            ProtocolError: If ``value`` cannot be expressed or is too large.
            PeerClosed: If the other end is gone.
            DeadlineExceeded: If it does not read in time.
        """
        tensors: list[Tensor] = []
        tree = encode(value, tensors)
        entries, payloads = zip(*map(_payload, tensors), strict=True) if tensors else ((), ())
        if len(tensors) > MAX_TENSORS or sum(map(len, payloads)) > MAX_TENSOR_BYTES:
            raise ProtocolError("a message that is too large")
        header = _JSON.encode([tree, entries]).encode()
        if len(header) > MAX_HEADER_BYTES:
            raise ProtocolError("a message that is too large")
        self._write(b"".join((struct.pack("<I", len(header)), header, *payloads)), deadline)

    def receive(self, deadline: float | None = None) -> Any:
        """Receive one message before ``deadline``.

        Raises:
            ProtocolError: If it breaks a rule of the protocol.
            PeerClosed: If the other end is gone.
            DeadlineExceeded: If no whole message arrives in time.
        """
        (length,) = struct.unpack("<I", self._read(4, deadline))
        if length > MAX_HEADER_BYTES:
            raise ProtocolError("a message that is too large")
        try:
            tree, entries = json.loads(self._read(length, deadline).decode("utf-8"))
        except (ValueError, TypeError, RecursionError):
            raise ProtocolError("a malformed message") from None
        if not isinstance(entries, list) or len(entries) > MAX_TENSORS:
            raise ProtocolError("too many tensors")
        checked = [_check_entry(entry) for entry in entries]
        if sum(size for *_, size in checked) > MAX_TENSOR_BYTES:
            raise ProtocolError("a message that is too large")
        return decode(tree, [self._read_tensor(*entry, deadline) for entry in checked])

    def _read_tensor(
        self, dtype: torch.dtype, device: str, shape: list[int], stride: list[int], size: int, deadline: float | None
    ) -> Tensor:
        """Read the bytes of one tensor into memory of our own and give them their shape."""
        data = self._read(size, deadline)
        try:
            if size == 0:
                return torch.empty(shape, dtype=dtype, device=device)
            # Bytes other than 0 and 1 are no booleans, so those are read as numbers and compared.
            flat = torch.frombuffer(data, dtype=torch.uint8 if dtype is torch.bool else dtype)
            flat = flat != 0 if dtype is torch.bool else flat
            return flat.to(device).as_strided(shape, stride)
        except (RuntimeError, AssertionError):  # a device that this machine does not have
            raise ProtocolError("a tensor on an unknown device") from None

    def _write(self, data: bytes, deadline: float | None) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except (BrokenPipeError, ConnectionResetError):
                raise PeerClosed from None

    def _read(self, size: int, deadline: float | None) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            try:
                count = os.readv(self._fd, [rest])
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except ConnectionResetError:
                count = 0
            if count == 0:
                raise PeerClosed
            rest = rest[count:]
        return data

    def _wait(self, event: int, deadline: float | None) -> None:
        self._poll.register(self._fd, event)
        left_ms = None if deadline is None else max(0.0, (deadline - time.monotonic()) * 1000)
        if not self._poll.poll(left_ms):
            raise DeadlineExceeded
