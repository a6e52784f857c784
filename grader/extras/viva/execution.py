"""Runs calls on versions of a submission, each version twice, each time in a new worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.core.rubric import Task
from grader.core.sandbox.handle import WorkerFailed, WorkerLike

Start = Callable[[Mapping[str, str]], WorkerLike]
Files = Mapping[str, str]

EXAM = Path(__file__).with_name("exam.py").read_text(encoding="utf-8")
LIMIT_S = 1.0  # of a worker's time for all calls on one version
DIGITS = 3
TINY, HUGE = 1e-4, 1e5
CLOSE, APART = 1e-6, 1e-2  # relative to the largest number: the same up to rounding; different to a reader


@dataclass(frozen=True)
class Outcome:
    """What a call gives on one version of a submission.

    Attributes:
        value: A tensor, the ``repr`` of anything else, or None where an exception was raised.
        error: The name of the exception's class.
        steps: The lines of the submission in the order in which they ran, as (path, line).
        held: By ``path:line``, the shape and dtype that the line left behind, or a number.
    """

    value: Any
    error: str
    steps: Sequence[tuple[str, int]]
    held: Mapping[str, str]

    @property
    def text(self) -> str:
        """The value as options show it."""
        if isinstance(self.value, torch.Tensor):
            return str(_rounded(self.value.tolist()))
        return f"raises {self.error}" if self.error else str(self.value)

    @property
    def is_readable(self) -> bool:
        """Whether it is a value that a person could have computed."""
        if not isinstance(self.value, torch.Tensor):
            return not self.error
        sizes = self.value.double().abs().flatten()
        return bool((sizes.isfinite() & ((sizes == 0) | ((sizes > TINY) & (sizes < HUGE)))).all())

    @property
    def kind(self) -> tuple[object, ...]:
        """Everything about the outcome that is no number."""
        if isinstance(self.value, torch.Tensor):
            return "tensor", self.value.dtype, self.value.shape
        return (self.text,)

    def same(self, other: Outcome) -> bool | None:
        """Whether it is the same as another; None where a person could not tell."""
        if self.kind != other.kind:
            return False
        if not isinstance(self.value, torch.Tensor) or self.value.numel() == 0:
            return True
        own, its = self.value.double(), other.value.double()
        if not torch.equal(own.isfinite(), its.isfinite()):
            return False
        own, its = own.nan_to_num(0, 0, 0), its.nan_to_num(0, 0, 0)
        largest = float(max(own.abs().max(), its.abs().max(), torch.tensor(1e-30)))
        gap = float((own - its).abs().max()) / largest
        return True if gap <= CLOSE else False if gap >= APART and self.text != other.text else None


class Bench:
    """Runs versions of one submission."""

    def __init__(self, start: Start) -> None:
        """Remember how a worker is started."""
        self._start = start

    def outcomes(
        self, files: Files, task: Task, codes: Sequence[str], wanted: Mapping[str, Any] | None = None
    ) -> list[Outcome] | None:
        """The outcomes of calls that use the names of a task; None if the names cannot be imported, or no answer comes.

        A second worker confirms them: where it says something else, there is no outcome.
        """
        first = self._once(files, task, codes, wanted)
        second = self._once(files, task, codes, None) if first else None
        if first is None or second is None or any(a.same(b) is not True for a, b in zip(first, second, strict=True)):
            return None
        return first

    def _once(
        self, files: Files, task: Task, codes: Sequence[str], wanted: Mapping[str, Any] | None
    ) -> list[Outcome] | None:
        homes = {name: task.file_of(name).removesuffix(".py").replace("/", ".") for name in task.names}
        loads = [("load", {"module": module, "name": name}) for name, module in homes.items()]
        exam = [("load", {"module": "src._exam", "name": "run"})]
        call = ("call", {"target": "run", "arguments": [homes, list(codes), wanted]})
        worker = self._start({**files, "src/_exam.py": EXAM})
        try:
            reply = worker.request([*loads, *exam, call], LIMIT_S)
            return [_outcome(one) for one in reply["value"]["outcomes"]]
        except (WorkerFailed, TypeError, ValueError, KeyError):  # a submission may have any reply sent
            return None
        finally:
            worker.close()


def _outcome(reply: Mapping[str, Any]) -> Outcome:
    value = reply.get("value")
    if not isinstance(value, torch.Tensor | str | None):
        raise TypeError("neither a tensor nor a text")
    steps = tuple((str(path), int(line)) for path, line in reply["steps"])
    return Outcome(value, str(reply.get("error", "")), steps, {str(k): str(v) for k, v in reply["held"].items()})


def _rounded(value: Any) -> Any:
    """A nested list with each number rounded to as many digits as a person compares."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") + 0.0 if isinstance(value, float) else value
