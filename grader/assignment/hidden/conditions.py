"""Checks under a condition, such as a mode, a layout or other modules; a fault says if it is right without that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import Layout, plain
from grader.testing import (
    ALONE,
    DTYPES,
    Crashed,
    Message,
    Student,
    StudentFault,
    StudentFunction,
    StudentModule,
    WrongAnswer,
    say,
    stated,
    without_gradients,
)

AFTER = say("{what} after the call, compared with before")
RIGHT_FOR = "for {sizes} it is right"
IN_EVALUATION = say("the output in evaluation mode, compared with training mode")
BUILT_BEFORE = "what changes them is another module, with {sizes}"
ONE_MODE = say("\nThis fails in {mode} mode only; in {other} mode it passes: look for self.training.")
NO_GRAD = say(
    "\nThis fails under torch.no_grad(), whatever the mode; where gradients are recorded it passes: "
    "look for is_grad_enabled() and requires_grad."
)
RECORDED = say(
    "\nThis fails where gradients are recorded, whatever the mode; under torch.no_grad() it passes: "
    "look for is_grad_enabled() and requires_grad."
)
NEEDED = say("\nThis fails only for an input that needs no gradient; with requires_grad=True it passes.")
UNFROZEN = say("\nThis fails where the parameter requires no gradient; where it does, it passes.")
CALLED_BETWEEN = say("without a call of the same module between forward and backward it is right")
ARRIVING = say("\nThe gradient that arrives is not contiguous in memory; with one that is, this passes.")
HELD = "it is right for {what} made of numbers that 16 bits hold"
GIVEN: Final = {"x": say("the input"), "gamma": say("gamma"), "tables": say("cos and sin")}
MOST_ROUNDED = 16.0  # ulp: several roundings in a row are off by less, an overflow by more
T = TypeVar("T")


def succeeds(ask: Callable[[], object]) -> bool:
    """Whether a request to the submission, or a check of its reply, succeeds."""
    try:
        ask()
    except StudentFault:
        return False
    return True


@contextmanager
def stating(message: Message) -> Iterator[None]:
    """Around a check: a wrong answer inside tells this as well."""
    try:
        yield
    except WrongAnswer as fault:
        raise fault.with_more(message) from None


def right_alone(student: Student, check: Callable[[], object]) -> bool:
    """Whether a check succeeds where it is the first thing that a new worker is asked for."""
    return student.passes_alone(lambda: succeeds(check))


def check_beside(student: Student, check: Callable[[bool], None]) -> None:
    """Require what ``check`` requires of a module beside others; a fault says if the module alone fulfils it.

    Args:
        student: The submission; the module alone is built in a new worker.
        check: Called with whether other modules are to be built.
    """
    try:
        check(True)
    except WrongAnswer as fault:  # what code raises, it says itself
        raise fault.with_more(ALONE if right_alone(student, lambda: check(False)) else None) from None


def told_others(
    student: Student, check: Callable[[list[Mapping[str, Any]]], object], others: Sequence[Mapping[str, Any]]
) -> list[Message]:
    """Which of the modules built before it change what ``check`` requires of one, for messages, if not each does."""
    changing = []
    for one in others:
        with student.aside():
            changing += [one] * (not succeeds(partial(check, [one])))
    return [say(BUILT_BEFORE, sizes=stated(**one)) for one in changing] if len(changing) < len(others) else []


def only_if(asked: bool, check: Callable[[bool], T], told: Message) -> T:
    """Check under a condition, if that is asked for; a fault tells if without the condition it is right."""
    try:
        return check(asked)
    except (WrongAnswer, Crashed) as fault:
        raise fault.with_more(told if asked and succeeds(lambda: check(False)) else None) from None


def with_a_call_between(check: Callable[[bool], T], between: bool) -> T:
    """Check a gradient with another call between forward and backward; a fault says if it is right without one."""
    return only_if(between, check, CALLED_BETWEEN)


def passed_back(check: Callable[[Tensor, bool], T], upstream: Tensor, layout: Layout, between: bool) -> T:
    """Check a gradient for an upstream one in some layout, perhaps with a call between forward and backward.

    A fault says if it is right for a contiguous one, and if it is right without that call.
    """

    def arriving(upstream: Tensor) -> T:
        return with_a_call_between(partial(check, upstream), between)

    try:
        return arriving(layout(upstream))
    except (WrongAnswer, Crashed) as fault:
        told = ARRIVING if layout is not plain and succeeds(lambda: arriving(upstream)) else None
        raise fault.with_more(told) from None


def in_mode(check: Callable[[bool], T], training: bool) -> T:
    """Check a module in one mode; a fault says if the same passes in the other one, and what decides."""
    try:
        return check(training)
    except (WrongAnswer, Crashed) as fault:
        alone = succeeds(lambda: check(not training)) and not succeeds(lambda: check(training))  # not by chance
        raise fault.with_more(failing_in(training, check) if alone else None) from None


def failing_in(training: bool, check: Callable[[bool], object]) -> Message:
    """Says in which mode alone a check fails, or that the mode has no part in it, but whether gradients are recorded.

    Evaluation records none, so training that records none either tells these apart.
    """
    with without_gradients():
        passes_unrecorded = succeeds(lambda: check(True))
    if passes_unrecorded is training:
        return RECORDED if training else NO_GRAD
    mode, other = ("train", "eval") if training else ("eval", "train")
    return ONE_MODE.filled(mode=mode, other=other)


# A case is named after its mode, too, lest the dtype be told as the condition of what the mode brings about.
DTYPES_IN_MODES = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float16-training", "bfloat16-evaluation"])


def modes_of(dtype: torch.dtype) -> tuple[bool, ...]:
    """Training and evaluation in float32, one of the two in each dtype of 16 bits."""
    return {torch.float32: (True, False), torch.float16: (True,)}.get(dtype, (False,))


@contextmanager
def where_none_is_needed(check: Callable[[list[Tensor]], object], *arguments: Tensor) -> Iterator[None]:
    """Around a check of a call in training: a fault says if the same passes for ``arguments`` that need a gradient."""
    try:
        yield
    except (WrongAnswer, Crashed) as fault:
        needing = [one.clone().requires_grad_(one.is_floating_point()) for one in arguments]
        is_input = any(one.requires_grad for one in needing)
        raise fault.with_more(NEEDED if is_input and succeeds(lambda: check(needing)) else None) from None


def check_untouched(
    called: StudentFunction,
    *arguments: Tensor,
    check: Callable[[list[Tensor]], None],
    modes: tuple[bool, ...] = (True, False),
    before: Sequence[Tensor] = (),
) -> list[Tensor]:
    """Call it in training, then in evaluation, which records no gradients, as a function does under ``torch.no_grad``.

    A call with other numbers comes after each, and may not change its output.

    Args:
        called: A module or a function.
        arguments: What it is called with.
        check: Given the arguments after each call, requires them to be as they were.
        modes: In which of the two it is called, training first.
        before: Arguments of another call that comes before each, with the same tensors; none if there is no such call.

    Returns:
        The outputs.
    """

    def observed(recording: bool, given: Sequence[Tensor] = arguments) -> Tensor:
        if isinstance(called, StudentModule):
            called.train(recording)
        if before:
            with nullcontext() if recording else without_gradients():
                called.after(*before)
        output, after = called.observe(*given, recording=recording, then=mirrored(*given), again=bool(before))
        check(after)
        return output

    def as_data(recording: bool) -> Tensor:
        with where_none_is_needed(partial(observed, True), *arguments) if recording else nullcontext():
            return observed(recording)

    return [in_mode(as_data, training) for training in modes]


def mirrored(*arguments: Tensor) -> list[Tensor]:
    """Arguments of the same shapes with other numbers, in new memory, for a call that comes after one with these."""
    return [argument.flip(-1) for argument in arguments]


def check_digits(check: Callable[..., None], **given: tuple[Tensor, ...]) -> None:
    """Check an output; a fault says which of the tensors that it is made of may be the one that loses digits.

    ``check`` is called with what is given, by name; then with one of these converted to 16 bits and back, so that to
    convert it again loses nothing.
    """
    try:
        check(**given)
    except WrongAnswer as fault:
        short = {what: tuple(tensor.bfloat16().float() for tensor in tensors) for what, tensors in given.items()}
        held = [what for what in given if succeeds(lambda: check(**given | {what: short[what]}))]  # noqa: B023
        raise fault.with_more(*(say(HELD, what=GIVEN[what]) for what in held)) from None


def largest(x: Tensor, fault: WrongAnswer | None = None) -> Message | None:
    """Says how large the numbers of an input are, where an error is larger than any that rounding makes."""
    if fault is not None and fault.error_ulp is not None and fault.error_ulp < MOST_ROUNDED:
        return None
    return say("the largest number of this input is {largest}", largest=f"{float(x.abs().max()):.0e}")
