"""Writes tensors in the format of https://github.com/huggingface/safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping

import torch
from torch import Tensor

DTYPES = {torch.float16: "F16", torch.float32: "F32"}


def safetensors(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> bytes:
    """A file with these tensors and texts; the same ones give the same bytes."""
    header: dict[str, object] = {"__metadata__": dict(texts)}
    numbers = b""
    for name, tensor in tensors.items():
        data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(numbers), len(numbers) + len(data)],
        }
        numbers += data
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text + numbers
