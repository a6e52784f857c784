"""Runs calls on versions of a submission, each version twice, each time in a new worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.core.rubric import Task
from grader.core.sandbox.handle import WorkerFailed, WorkerLike

Files = Mapping[str, str]
Place = tuple[str, int]  # path and line
Wanted = Mapping[str, Mapping[str, str]]  # by path and line, the name that the line assigns, or ``return``
NOTHING: Wanted = {}

EXAM = Path(__file__).with_name("exam.py").read_text(encoding="utf-8")
LIMIT_S = 1.0  # of a worker's time for all calls on one version
DIGITS = 3
TINY, HUGE = 1e-4, 1e5  # what a person would not have computed lies beyond
CLOSE, APART = 1e-6, 1e-2  # relative to the largest number: the same up to rounding; different to a reader


@dataclass(frozen=True)
class Outcome:
    """What a call gives on one version of a submission.

    Attributes:
        value: A tensor, the ``repr`` of anything else, or None where an exception was raised.
        error: The name of the exception's class.
        steps: The lines of the submission in the order in which they ran.
        held: The dtype and shape of the tensor that a line assigned or returned.
    """

    value: Any
    error: str
    steps: Sequence[Place]
    held: Mapping[Place, str]

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
        sizes = self.value.double().abs()
        return bool(((sizes == 0) | ((sizes > TINY) & (sizes < HUGE))).all())

    def same(self, other: Outcome) -> bool | None:
        """Whether it is the same as another; None where a person could not tell."""
        own, its = self.value, other.value
        if not isinstance(own, torch.Tensor) or not isinstance(its, torch.Tensor):
            return type(own) is type(its) and self.text == other.text
        if (own.dtype, own.shape) != (its.dtype, its.shape):
            return False
        own, its = own.double(), its.double()
        if not torch.equal(own.isfinite(), its.isfinite()) or own.numel() == 0:
            return own.numel() == 0
        own, its = own.nan_to_num(0, 0, 0), its.nan_to_num(0, 0, 0)
        gap = float((own - its).abs().max() / torch.stack((own.abs().max(), its.abs().max())).max().clamp(1e-30))
        return True if gap <= CLOSE else False if gap >= APART and self.text != other.text else None

    def after(self, path: str, line: int) -> int:
        """How many lines ran from a line on to the end; 0 if it was not reached."""
        place = (path, line)
        return len(self.steps) - self.steps.index(place) if place in self.steps else 0


@dataclass(frozen=True)
class Bench:
    """Runs versions of submissions in workers that ``start`` starts."""

    start: Callable[[Files], WorkerLike]

    def outcomes(
        self, files: Files, task: Task, codes: Sequence[str], wanted: Wanted = NOTHING
    ) -> list[Outcome] | None:
        """The outcomes of calls that use the names of a task; None if these cannot be imported, or no answer comes.

        A second worker confirms them: where it says something else, there is no outcome. In the first, memory that
        nobody has written to holds nan, so that code which reads such memory has no outcome, either.
        """
        first = self._once(files, task, codes, wanted, fill=True)
        second = self._once(files, task, codes, NOTHING, fill=False) if first else None
        return first if first and second and alike(first, second) else None

    def _once(self, files: Files, task: Task, codes: Sequence[str], wanted: Wanted, fill: bool) -> list[Outcome] | None:
        homes = {name: task.file_of(name).removesuffix(".py").replace("/", ".") for name in task.names}
        loads = [("load", {"module": module, "name": name}) for name, module in (*homes.items(), ("run", "src._exam"))]
        worker = self.start({**files, "src/_exam.py": EXAM})
        try:
            call = ("call", {"target": "run", "arguments": [homes, list(codes), wanted, fill]})
            found = [_outcome(one) for one in worker.request([*loads, call], LIMIT_S)["value"]["outcomes"]]
            return found if len(found) == len(codes) else None
        except (WorkerFailed, TypeError, ValueError, KeyError):  # a submission may have any reply sent
            return None
        finally:
            worker.close()


def alike(some: Sequence[Outcome], others: Sequence[Outcome]) -> bool:
    """Whether no call tells them apart."""
    return all(a.same(b) for a, b in zip(some, others, strict=True))


def _outcome(reply: Mapping[str, Any]) -> Outcome:
    if not isinstance(value := reply.get("value"), torch.Tensor | str | None):
        raise TypeError("neither a tensor nor a text")
    steps = tuple((str(path), int(line)) for path, line in reply["steps"])
    held = {(str(path), int(line)): str(text) for path, line, text in reply["held"]}
    return Outcome(value, str(reply.get("error", "")), steps, held)


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") + 0.0 if isinstance(value, float) else value
