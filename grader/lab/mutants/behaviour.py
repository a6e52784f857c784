"""Finds edits that change required behaviour: original and edit answer the same requests, in workers.

Neither the hidden tests nor their oracle take part: an edit is wrong if one of its answers differs from the original's
by more than the rounding that the contract allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor

from grader.assignment.corpus.probes import PROBES
from grader.core.sandbox.handle import Worker, WorkerFailed
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import ProtocolError, pack, unpack
from grader.specimens.probes import Probe

AT_ONCE: Final = "at once"
DEAD: Final[dict[str, Any]] = {"error": {"types": []}}
LOT: Final = 40  # requests that a worker gets at once
ULPS: Final = {torch.float32: 16.0, torch.float16: 4.0, torch.bfloat16: 4.0, torch.float64: 16.0}


@dataclass
class Comparison:
    """Answers of one original, kept for all of its edits."""

    start_worker: Callable[[Mapping[str, str]], Worker]
    files: Mapping[str, str]
    second: str | None
    _answers: dict[str, list[Any]] = field(default_factory=dict)
    _using: dict[str, list[str]] = field(default_factory=dict)

    def using(self, path: str) -> list[str]:
        """The names that need a file."""
        if path not in self._using:
            broken = {**self.files, path: "raise RuntimeError"}
            self._using[path] = [name for name in PROBES if self.difference(name, broken)]
        return self._using[path]

    def differing(self, path: str, text: str, first: str) -> Iterator[tuple[str, str]]:
        """The names that answer otherwise with that file, and how: by ``value``, or it ``raises``, even ``at once``.

        Args:
            path: The path of the edited file.
            text: Its new text.
            first: The name to begin with, if it is one of them.
        """
        for name in sorted(self.using(path), key=lambda name: name != first):
            if kind := self.difference(name, {**self.files, path: text}):
                yield name, kind

    def difference(self, name: str, edited: Mapping[str, str]) -> str:
        """How a name answers otherwise in another submission, or an empty text: see :meth:`differing`."""
        if name not in self._answers:
            self._answers[name] = [*self._ask(self.files, name)]
        pairs = zip(_probes(name, self.second), self._answers[name], self._ask(edited, name), strict=True)
        for number, (probe, right, other) in enumerate(pairs):
            if not alike(probe, right, other):
                return "value" if "error" not in other else "raises" if number else AT_ONCE
        return ""

    def _ask(self, files: Mapping[str, str], name: str) -> Iterator[dict[str, Any]]:
        """The replies to all probes: from the first on that has none, ``DEAD``."""
        worker, left = self.start_worker(files), len(_probes(name, self.second))
        try:
            for number, lot in enumerate(_lots(name, self.second)):
                worker.post(lot, anew=not number)
                replies: list[Any] = unpack(worker.replies(Limits().request_s))
                left -= len(replies)
                yield from replies
                if len(replies) < LOT:
                    break
        except (WorkerFailed, ProtocolError):
            pass
        finally:
            worker.close()
        yield from [DEAD] * left


def alike(probe: Probe, right: Any, other: Any) -> bool:
    """Whether two replies agree, as far as the contract asks for it."""
    if probe.sizes:
        error = other.get("error", DEAD["error"])
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


@cache
def _probes(name: str, second: str | None) -> list[Probe]:
    return [*PROBES[name](second)]


@cache
def _lots(name: str, second: str | None) -> list[bytes]:
    requests = [list(probe.operations) for probe in _probes(name, second)]
    return [pack(requests[start : start + LOT]) for start in range(0, len(requests), LOT)]
