"""Histories: after any sequence of calls, a module must answer a call as a new module would.

This finds caches, stale tables and changed dtypes. A history that fails is shortened as long as it still fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from grader.testing import (
    Message,
    StudentFault,
    StudentModule,
    WrongAnswer,
    error_in_ulp,
    name,
    quoted,
    say,
    without_gradients,
)

SAME = 4.0  # ulp: the same code on the same numbers; at another place in memory, kernels may add in another order


@dataclass(frozen=True)
class Step:
    """One thing that is done to a module.

    Attributes:
        input: What it is called with; None for another step.
        mode: True for training, False for evaluation; None for another step.
        update: What its parameter is set to, in alternative layouts; None for another step.
        convert: The dtype that it is converted back to, from float64; None for another step.
        other: Builds another module, which may share something with the one that is called; None for another step.
        alike: Whether that module has the same arguments, and its parameter is set.
    """

    input: Tensor | None = None
    mode: bool | None = None
    update: tuple[Tensor, ...] | None = None
    convert: torch.dtype | None = None
    other: Callable[[], object] | None = None
    alike: bool = False

    @property
    def told(self) -> Message:
        """The step in words."""
        if self.input is not None:
            dtype, shape = name(self.input.dtype), list(self.input.shape)
            return say("a call with {dtype} input of shape {shape}", dtype=dtype, shape=shape)
        if self.mode is not None:
            return quoted("train()" if self.mode else "eval()")
        if self.convert is not None:
            return quoted(f"module.double().to({name(self.convert)})")
        if self.other is not None:
            return ALIKE_UPDATED if self.alike else OTHER_BUILT
        return say("an update of the parameter")


OTHERWISE = "after {before}, {what} gives a different output than on a new module"
RANDOM = "{what} gives a different output each time"
RAISES = "after {before}, {what} raises an exception; on a new module it does not"
STILL_BEFORE = say("it still uses the parameter's value from before the last update")
RIGHT_ANEW = say(
    "here all calls get the same tensor, with new numbers in it; with a new tensor for every call it is right"
)
RIGHT_AFTER = "after {before} it is right"
UNRECORDED = say(
    "it also happens without eval(), under torch.no_grad(): look for is_grad_enabled() and requires_grad, "
    "not for self.training"
)
EVALUATING = say("in train mode, under torch.no_grad(), it is right: look for self.training")
OTHER_BUILT = say("the construction of a module with other arguments")
ALIKE_UPDATED = say("an update of another module with the same arguments")
Values = tuple[Tensor, ...]  # a parameter's value, in alternative layouts
Make = Callable[[Values], StudentModule]  # builds a new module with a parameter's value


def updated_in_both_modes(calls: Sequence[Tensor], updates: Sequence[Step]) -> list[Step]:
    """In training, then in evaluation: a call, an update, and the same call; the calls differ in nothing but values.

    A kept output or parameter shows in either mode; evaluation, which runs without gradients, has another of the three
    ``calls`` before these, since an output may be kept until the parameter changes. A conversion, which gives the
    parameter new memory, comes before the first update: a view of it no longer follows then.
    """
    trained, before, evaluated = (Step(input=call) for call in calls)
    first, second = updates
    converted = [Step(convert=value.dtype) for value in (first.update or ())[:1]]
    return [trained, *converted, first, trained, Step(mode=False), before, evaluated, second, evaluated]


def with_ids(ids: Tensor, updates: Sequence[Step]) -> list[Step]:
    """The history of an embedding, for three calls of ``[4, 12]`` ids.

    Two ids in the middle of the second call change places in one before it, so that a cache shows that goes by some of
    the ids or by their sum. The last call, in training again, has as many ids in another shape.
    """
    first, second, last = ids
    exchanged = second.clone()
    exchanged[2, 5:7] = second[2, 5:7].flip(0)
    again = [Step(mode=True), Step(input=last.reshape(12, 4))]
    return [*updated_in_both_modes([first, exchanged, second], updates), *again]


def check_history(make: Make, steps: Sequence[Step], start: Values, excuse: Callable[[StudentFault], None]) -> None:
    """Require every call of a history to answer as on a new module.

    Args:
        make: Builds a module with a parameter's value.
        steps: The history; its last step is a call.
        start: The parameter's first value.
        excuse: Passes over a fault that a new module shows, as long as the properties about forward charge for it; see
            :func:`is_random`.

    Raises:
        WrongAnswer: With the shortest history that fails.
    """
    new = _answers_of_new_modules(make, steps, start, excuse)
    steps = [step for step, answer in zip(steps, new, strict=True) if step.input is None or answer is not None]
    wanted = [answer for answer in new if answer is not None]
    ends = [end for end, step in enumerate(steps, 1) if step.input is not None]
    for end, used, answer in zip(ends, _answers(make(start), steps), wanted, strict=True):
        alike = used is not None and _same(used, answer)
        if end > 1 and not alike:
            if not _differs(make, steps[:end], start) or _is_random(make, steps[end - 1], start):
                excuse(WrongAnswer(say(RANDOM, what=steps[end - 1].told)))
                continue
            shortest = _shorten(make, steps[:end], start)
            before = shortest[0].told
            for step in shortest[1:-1]:
                before = say("{before} then {step}", before=before, step=step.told)
            done = {"what": shortest[-1].told, "before": before}
            others = _calls_without_effect(make, shortest, steps, start)
            if not _differs(make, shortest, start, in_place=False):
                others.insert(0, RIGHT_ANEW)
            others += _told_mode(make, shortest, start)
            try:
                _play(make(start), shortest)
                message = say(OTHERWISE, **done).then(*_told(make, shortest, steps, start), *others)
            except StudentFault as fault:
                message = say(RAISES, **done).then(*others, fault.message)
            raise WrongAnswer(message, elements=len(shortest))  # of all cases the easiest to repeat


def is_random(fault: StudentFault) -> bool:
    """Whether a fault of a history is that of random outputs, for which no property about dtypes or layouts charges."""
    return fault.message.fields(RANDOM) is not None


def _answers_of_new_modules(
    make: Make, steps: Sequence[Step], start: Values, excuse: Callable[[StudentFault], None]
) -> list[Tensor | None]:
    """For each step what a call gives on a new module: None for other steps, and where it fails.

    Calls that fail are charged where they are asked of a new module, so histories leave them out.
    """
    answers: list[Tensor | None] = []
    for end, step in enumerate(steps, 1):
        answer = None
        if step.input is not None:
            try:
                answer = _anew(make, steps[:end], start)
            except StudentFault as fault:
                excuse(fault)
        answers.append(answer)
    return answers


def _answers(module: StudentModule, steps: Sequence[Step]) -> Iterator[Tensor | None]:
    """What each call of a history gives; None for one that fails, and for all calls after it."""
    outputs = _outputs(module, steps)
    for _ in filter(lambda step: step.input is not None, steps):
        try:
            yield next(outputs, None)
        except StudentFault:
            yield None


def _shorten(make: Make, steps: Sequence[Step], start: Values) -> Sequence[Step]:
    """Leave out each step that is not needed for the last call to differ."""
    for index in range(len(steps) - 1):
        fewer = [*steps[:index], *steps[index + 1 :]]
        if len(fewer) > 1 and _differs(make, fewer, start):
            return _shorten(make, fewer, start)
    return steps


def _calls_without_effect(make: Make, shortest: Sequence[Step], every: Sequence[Step], start: Values) -> list[Message]:
    """After which unlike calls the last one is right, for messages, if a single call before it changes it."""
    first, *modes, last = shortest
    if first.input is None or any(step.mode is None for step in modes):
        return []
    calls = {step.told: step for step in every if step.input is not None and step.told != first.told}
    return [
        say(RIGHT_AFTER, before=told) for told, one in calls.items() if not _differs(make, [one, *modes, last], start)
    ]


def _told(make: Make, steps: Sequence[Step], every: Sequence[Step], start: Values) -> list[Message]:
    """What the last call answers in place of the right output, if a rule predicts it.

    Where an update comes between two calls with the same input, an output that is kept and a parameter that is kept
    look alike. A call of the same shape with other values tells them apart.
    """
    lasts = [steps[-1], *islice((step for step in every if _unlike(step.input, steps[-1].input)), 1)]
    is_again, is_stale = [], []
    for last in lasts:
        *before, answer = _answers(make(start), [*steps[:-1], last])
        olds = [start, *(step.update for step in steps if step.update is not None)][:-1]
        stale = [next(_answers(make(old), [*(step for step in steps if step.mode is not None), last])) for old in olds]
        is_again.append(any(_equal(answer, one) for one in before))
        is_stale.append(any(_equal(answer, one) for one in stale))
    if all(is_stale) and (len(lasts) > 1 or not is_again[0]):
        return [STILL_BEFORE]
    return [say("it is the output of an earlier call")] if is_again[0] and not all(is_stale) else []


def _told_mode(make: Make, shortest: Sequence[Step], start: Values) -> list[Message]:
    """Whether a history with calls in evaluation fails by the mode, or since these record no gradients."""
    if not any(step.mode is False for step in shortest):
        return []
    with without_gradients():
        return [UNRECORDED if _differs(make, [one for one in shortest if one.mode is None], start) else EVALUATING]


def _unlike(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether these are two inputs that differ in nothing but their values."""
    if one is None or other is None or (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    return not torch.equal(one, other)


def _equal(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether these are two outputs, and the same."""
    return one is not None and other is not None and _same(one, other)


def _differs(make: Make, steps: Sequence[Step], start: Values, *, in_place: bool = True) -> bool:
    """Whether the last call answers otherwise than on a new module with the same parameter."""
    try:
        new, again = _anew(make, steps, start), _anew(make, steps, start)
    except StudentFault:
        return False  # another property charges for a call that fails on a new module
    if not _same(new, again):
        return False  # and for new modules that differ from each other
    try:
        played = _play(make(start), steps, in_place=in_place)
    except StudentFault:
        return True
    return not _same(played, new)


def _is_random(make: Make, call: Step, start: Values) -> bool:
    """Whether a call gives random numbers, which each construction seeds anew, and not what earlier calls left."""
    seeded = Step(other=lambda: make(start))
    return _differs(make, [call, call], start) and not _differs(make, [call, seeded, call], start)


def _same(used: Tensor, new: Tensor) -> bool:
    if used.shape != new.shape or used.dtype != new.dtype:
        return False
    same = torch.equal(used, new)
    if same or not new.is_floating_point():
        return same
    both_nan = (used.isnan() & new.isnan()).cpu()
    errors = error_in_ulp(used, new.cpu().double(), new.cpu().double(), new.dtype)
    return bool((errors.where(~both_nan, 0.0) <= SAME).all())


def _anew(make: Make, steps: Sequence[Step], start: Values) -> Tensor:
    """What the last call gives on a new module, in the mode and with the parameter and dtype that the steps lead to."""
    updates = [step.update for step in steps if step.update is not None]
    modes = [step for step in steps if step.mode is not None]
    conversions = [step for step in steps if step.convert is not None]
    return _play(make(updates[-1] if updates else start), [*conversions[-1:], *modes[-1:], steps[-1]])


def _play(module: StudentModule, steps: Sequence[Step], *, in_place: bool = True) -> Tensor:
    *_, output = _outputs(module, steps, in_place=in_place)
    return output


def _outputs(module: StudentModule, steps: Sequence[Step], *, in_place: bool = True) -> Iterator[Tensor]:
    """What each call of a history gives, until one fails.

    A call with an input like that of the call before gets the same tensor, changed ``in_place``: programs keep their
    inputs in one place, so a tensor does not tell what it holds.
    """
    for step in steps:
        if step.input is not None:
            yield module.again(step.input) if in_place else module(step.input)
        elif step.mode is not None:
            module.train(step.mode)
        elif step.update is not None:
            module.assign(*step.update)
        elif step.convert is not None:
            module.to(torch.float64).to(step.convert)
        elif build := step.other:
            build()
