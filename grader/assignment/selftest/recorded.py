"""One call of the rotation as a judge records it: its requests, and replies that pass."""

from __future__ import annotations

import torch

from grader.core.judge.record import Recording
from grader.core.sandbox.handle import Operation
from grader.core.sandbox.protocol import Message

X = torch.tensor([[[[1.0, 2.0]]]])
TABLE = torch.ones(1, 2)
NAME = "apply_rotary_pos_emb"
LOAD: list[Operation] = [("load", {"module": "src.functional", "name": NAME})]
CALL: list[Operation] = [("call", {"target": NAME, "arguments": [X, TABLE, TABLE]})]


def packed(*values: object) -> bytes:
    """A message of those values."""
    message = Message()
    for value in values:
        message.add(value)
    return message.packed()


SINGLY = [packed(LOAD), packed(CALL)]
RECORDING = Recording(frozenset({NAME}), [[1]], [0], packed(LOAD, CALL), SINGLY)
PASSING = packed({"value": None}, {"value": X})
