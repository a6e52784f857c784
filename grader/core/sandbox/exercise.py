"""Does once, in the fork server, everything that a submission may be asked for, with the grader's own code.

So whatever Python and torch import, initialise or cache at first use is there before a worker is forked, and no worker
spends time on it.
"""

from __future__ import annotations

from typing import Any

import torch

from .operations import Operations
from .protocol import Message, ProtocolError, unpack

FILES = {
    "src/exercise.py": """
import math
from collections.abc import Sequence
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def apply(input: Tensor, cos: Tensor) -> Tensor:
    first, second = input.chunk(2, dim=-1)
    return (input.float() * cos + torch.cat((-second, first), dim=-1)).to(input.dtype)


class Exercise(nn.Module):
    def __init__(self, size: int, dtype: Optional[torch.dtype] = None, device: str = "cpu") -> None:
        super().__init__()
        if size % 2:
            raise ValueError(f"size={size} is odd")
        self.weight = nn.Parameter(torch.empty(size, dtype=dtype, device=device))
        theta = 10000.0 ** (-torch.arange(0, 4, dtype=torch.float32, device=device) / 4)
        torch.polar(theta, theta).to(torch.complex64).abs()
        angles = torch.outer(torch.arange(4, dtype=torch.float32, device=device), theta)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", torch.sin(angles).to(dtype or torch.float32), persistent=False)
        self.several = isinstance(size, Sequence)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            nn.init.normal_(self.weight)
        generator = torch.Generator(self.weight.device).manual_seed(1)
        torch.randn(3, generator=generator, device=self.weight.device).sort()
        with torch.no_grad():
            self.weight.uniform_(-1.0, 1.0, generator=generator)

    def extra_repr(self) -> str:
        return f"{math.prod(self.weight.shape)}"

    def forward(self, input: Tensor) -> Tensor:
        if not torch.is_floating_point(input):
            outside = (input < 0) | (input >= len(self.weight))
            ids = torch.where(outside, 0, input - 0)
            rows = F.embedding(ids, self.weight.unsqueeze(-1)) + self.weight.unsqueeze(-1)[ids]
            return rows.masked_fill(outside.unsqueeze(-1), 0.0) * ~outside.unsqueeze(-1)
        mean_square = input.float().pow(2).mean(-1, keepdim=True) + input.float().square().mean(-1, keepdim=True)
        normalised = input.float() * torch.rsqrt(mean_square + 1e-5) + input.float() / torch.sqrt(mean_square + 1e-5)
        mixed = nn.Linear(4, 4, device=input.device)(normalised)
        normalised = normalised + 0 * torch.einsum("bi,ci->bc", mixed, mixed).softmax(-1).sum()
        output = (normalised.unflatten(-1, (-1, 2)).flatten(-2) * self.weight).to(input.dtype)
        return apply(output, self.cos[0]) - apply(output, self.sin[:1].expand(2, 4))
""",
}


def exercise_requests(device: str) -> list[list[tuple[str, dict[str, Any]]]]:
    """What a submission may be asked for, with values on that device."""
    ones = torch.ones(2, 4).to(device)
    exercise = {"number": 0, "name": "Exercise", "arguments": {"size": 4, "device": device}}
    ids = torch.tensor([[0, 3]]).to(device)
    return [
        [("load", {"module": "src.exercise", "name": "Exercise"})],
        [("load", {"module": "src.exercise", "name": "apply"})],
        [("construct", exercise), ("parameters", {"target": 0})],
        [("assign", {"target": 0, "values": [2.0]}), ("call", {"target": 0, "arguments": [ones]})],
        [("assign", {"target": 0, "values": [ones[0]]}), ("observe", {"target": 0, "arguments": [ones]})],
        [("backward", {"target": 0, "arguments": [ones], "upstream": ones})],
        [("backward", {"target": "apply", "arguments": [ones.half(), ones], "upstream": ones.half()})],
        [("backward", {"target": 0, "arguments": [ids], "upstream": torch.ones(1, 2, 1).to(device)})],
        [("method", {"target": 0, "name": "to", "arguments": [torch.bfloat16]}), ("buffers", {"target": 0})],
        [("method", {"target": 0, "name": "to", "arguments": ["cpu"]}), ("parameters", {"target": 0})],
        [("method", {"target": 0, "name": "to", "arguments": [device]}), ("buffers", {"target": 0})],
        [("method", {"target": 0, "name": "train", "arguments": [False]}), ("state_dict", {"target": 0})],
        [("method", {"target": 0, "name": "reset_parameters", "arguments": []}), ("parameters", {"target": 0})],
        [("construct", {"number": 1, "name": "Exercise", "arguments": {"size": 3}})],
        [("call", {"target": 0, "arguments": [torch.ones(3, 5)]})],
        [("load", {"module": "src.missing", "name": "missing"})],
    ]


def exercise(device: str) -> None:
    """Do all of these requests on a device, then forget the submission; what torch has cached stays."""
    requests, replies, operations = Message(), Message(), Operations(FILES)
    for request in exercise_requests(device):
        requests.add(request)
    for request in unpack(requests.packed()):
        replies.add(operations.perform(request))
    operations.forget()
    unpack(replies.packed())
    try:
        replies.add(object())
    except ProtocolError:
        str(torch.ones(2).to(device))
