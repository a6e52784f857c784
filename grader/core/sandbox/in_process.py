"""A worker without a process of its own, for code that we trust: the reference, and the variants of the self-test."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from .handle import Operation
from .operations import Operations, invalid
from .protocol import ProtocolError, decode, encode


class InProcessWorker:
    """Performs the same operations on copies of the values, in this process and without limits."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Hold the text of ``files``; nothing is imported yet."""
        self._operations = Operations(files)
        self.spent_s = 0.0  # trusted code is not charged

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Do one thing after another; see :class:`~grader.core.sandbox.handle.WorkerLike`."""
        del timeout_s  # nothing here can be interrupted
        reply = self._operations.perform(copy.deepcopy(operations))
        tensors: list[Tensor] = []
        try:
            tree = encode(reply, tensors)
        except ProtocolError as error:
            return invalid(error)
        return dict(decode(tree, [tensor.clone() for tensor in tensors]))

    def close(self) -> None:
        """Nothing to end."""
