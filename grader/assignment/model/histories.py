"""Histories: after any sequence of calls, a call answers as a new module in the contract's state would.

It finds caches, stale tables and rewritten dtypes. A history that fails is cut down to the shortest that still does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judge.compare import error_in_ulp, name
from grader.judge.faults import StudentFault, WrongAnswer
from grader.judge.student import StudentModule

SAME = 4.0  # ulp: the same code on the same numbers; kernels may add in another order elsewhere in memory


@dataclass(frozen=True)
class Step:
    """One thing that is done to a module.

    Attributes:
        input: What it is called with; None for another step.
        mode: True for training, False for evaluation; None for another step.
        update: What its parameter is set to, in alternative layouts; None for another step.
    """

    input: Tensor | None = None
    mode: bool | None = None
    update: tuple[Tensor, ...] | None = None

    def __str__(self) -> str:
        """For messages."""
        if self.input is not None:
            return f"a {name(self.input.dtype)} call {list(self.input.shape)}"
        if self.mode is not None:
            return "train()" if self.mode else "eval()"
        return "an update of the parameter"


Values = tuple[Tensor, ...]  # of a parameter, in alternative layouts
Make = Callable[[Values], StudentModule]  # a new module with a parameter's value
Before = Callable[[Sequence[Step]], Sequence[Step]]  # from a history to what a new module must have met, such as growth


def check_history(make: Make, steps: Sequence[Step], start: Values, before: Before = lambda _: ()) -> None:
    """Require every call of a history to answer as on a new module.

    Args:
        make: Builds a module with a parameter's value.
        steps: What is done, one after another; the last one is a call.
        start: The parameter's first value.
        before: The part of a history that may have changed the module's state.

    Raises:
        WrongAnswer: With the shortest history that fails.
    """
    steps = _answered(make, steps, start, before)
    for end, step in enumerate(steps, 1):
        if step.input is not None and end > 1 and _differs(make, steps[:end], start, before):
            shortest = _shorten(make, steps[:end], start, before)
            told = " then ".join(map(str, shortest[:-1]))
            message = f"{shortest[-1]} gives another output than on a new module, after {told}"
            raise WrongAnswer(message, elements=len(shortest))  # of all cases the easiest to repeat


def _answered(make: Make, steps: Sequence[Step], start: Values, before: Before) -> Sequence[Step]:
    """The steps without calls that fail on a new module, too: those are charged where they are asked of one."""
    kept: list[Step] = []
    state = start
    for step in steps:
        state = state if step.update is None else step.update
        try:
            if step.input is not None:
                _play(make(state), [*before(kept), step])
        except StudentFault:
            continue
        kept.append(step)
    return kept


def _shorten(make: Make, steps: Sequence[Step], start: Values, before: Before) -> Sequence[Step]:
    """Leave out what is not needed for the last call to differ."""
    for index in range(len(steps) - 1):
        fewer = [*steps[:index], *steps[index + 1 :]]
        if len(fewer) > 1 and _differs(make, fewer, start, before):
            return _shorten(make, fewer, start, before)
    return steps


def _differs(make: Make, steps: Sequence[Step], start: Values, before: Before) -> bool:
    """Whether the last call answers otherwise than on a new module with the same parameter."""
    updates = [step.update for step in steps if step.update is not None]
    state, needed = updates[-1] if updates else start, [*before(steps[:-1]), steps[-1]]
    try:
        new, again = _play(make(state), needed), _play(make(state), needed)
    except StudentFault:
        return False  # what fails on a new module is charged where it is asked of one
    if not _same(new, again):
        return False  # so is what differs from one new module to the next
    try:
        used = _play(make(start), steps)
    except StudentFault:
        return True
    return not _same(used, new)


def _same(used: Tensor, new: Tensor) -> bool:
    if used.shape != new.shape or used.dtype != new.dtype:
        return False
    if not new.is_floating_point():
        return torch.equal(used, new)
    both_nan = (used.isnan() & new.isnan()).cpu()
    errors = error_in_ulp(used, new.cpu().double(), new.cpu().double(), new.dtype)
    return bool((errors.where(~both_nan, 0.0) <= SAME).all())


def _play(module: StudentModule, steps: Sequence[Step]) -> Tensor:
    output = torch.empty(0)
    for step in steps:
        if step.input is not None:
            output = module(step.input)
        elif step.mode is not None:
            module.train(step.mode)
        elif step.update is not None:
            module.assign(*step.update)
    return output
