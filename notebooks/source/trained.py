"""What was measured once of a trained model, and one of its heads; the JSON files say how, and under which licence."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import torch
from torch import Tensor


def measured(what: str) -> list:
    """A result: of each block, how its heads look; or the mean losses along a text, with a way of scaling."""
    return _read("smollm2.json")["pieces"][what]


def head() -> tuple[list[str], Tensor, Tensor, Tensor]:
    """A short text in tokens, what comes into the head for it [n, 576], and its W_Q and W_K [64, 576]."""
    told = _read("smollm2_head.json")  # neighbouring rows are pairs
    packed = (base64.b64decode(told["arrays"][name]) for name in ("x", "q", "k"))
    arrays = [torch.frombuffer(bytearray(data), dtype=torch.float16).double().view(-1, 576) for data in packed]
    return told["tokens"], *arrays


def _read(name: str) -> dict:
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
