"""Checks for a second device: a module answers there as on the CPU, and on the device of its input.

The output is compared with the student's own output on the CPU, which other tests judge. A mistake with devices shows
as an exception, a wrong device or quite different numbers, never as a rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.conditions import succeeds
from grader.assignment.hidden.construction import REGISTERED
from grader.testing import (
    OTHER_SHAPE,
    Crashed,
    InvalidReply,
    Message,
    NotImplementedYet,
    Student,
    StudentFault,
    StudentModule,
    TimedOut,
    WrongAnswer,
    check_errors,
    check_like,
    elsewhere,
    error_in_ulp,
    label,
    require,
    say,
    why_not_assessed,
)

LIMIT = 1024.0  # ulp of the largest number: a GPU adds in another order, and may use other algorithms

MADE = say("Pass device to every parameter and every table; nn.Parameter(...).to(device) is no longer a parameter.")
DRAWN = say(
    "Draw on the parameter's device, with a generator on that device: the same seed gives different numbers on each."
)
ANSWERED = say(
    "forward needs every tensor on the input's device: create new tensors there. A tensor kept as a plain attribute "
    "does not follow the module: register it as a buffer, or create it in forward."
)
MIXED = say(
    "In forward, move the parameter to the input's device with .to(), and return the output there; the original stays."
)
TABLES = say("If the tables are on another device, return a result on the input's device, or let torch raise.")
PASSED_BACK = say("Move tensors with .to() inside forward: detach, .data and new parameters cut the gradient.")
FOLLOWED = say("Register the tables as buffers, and create grown tables on the device of those they replace.")

OUTPUT, BESIDE = say("the output"), say("{what} compared with the CPU")

Build = Callable[[str], StudentModule]


@contextmanager
def advice(
    student: Student,
    device: str,
    text: str,
    charged: Callable[[StudentFault], tuple[str, ...]] | None = None,
    is_right: Callable[[], bool] = lambda: True,
) -> Iterator[None]:
    """Add the device and what to do to the message of a case that fails inside; skip it if the simulation is to blame.

    A file that cannot be imported has nothing to do with devices; every case tells the same about it.

    Args:
        student: The submission.
        device: The device.
        text: What to do.
        charged: For a fault that is no matter of devices, the properties of which one charges for it: it counts here
            only if none of them does. Called once the case has failed, so it may ask the submission for more. Without
            it, the case itself charges for whatever it finds.
        is_right: Called once the case has failed: whether the same is right on the CPU. If not, devices are not at
            fault, and the message says nothing of them.
    """
    try:
        yield
    except StudentFault as fault:
        if student.is_about_import(fault):
            raise
        if reason := why_not_assessed(fault, device, student.files_of_task):
            pytest.skip(reason)
        of_shape = isinstance(fault, WrongAnswer) and fault.message.fields(OTHER_SHAPE) is not None
        no_advice = of_shape or not is_right()
        told = fault.with_more(None if no_advice else say("\nOn {here}: {advice}", here=label(device), advice=text))
        if not (charged_to := charged and charged(fault)):
            raise told from None
        student.excuse(told, charged_to)


@contextmanager
def may_refuse() -> Iterator[None]:
    """Accept an exception inside: a table is a buffer, which the caller moves with the module."""
    with suppress(Crashed):
        yield


@contextmanager
def on_the_cpu(student: Student, *charged_to: str) -> Iterator[None]:
    """Skip a case that fails on the CPU inside: there is nothing to compare with.

    Args:
        student: The submission.
        charged_to: The properties of which one charges for that, or the case's own, in cases of the same shapes.
    """
    try:
        yield
    except (Crashed, InvalidReply, NotImplementedYet, TimedOut, WrongAnswer) as fault:
        student.excuse(fault, (student.property_id, *charged_to))
        pytest.skip(say("no result on the CPU to compare with"))


def placed(student: Student, build: Build, device: str, x: Tensor, *charged_to: str) -> Iterator[StudentModule]:
    """A module that was made on the device, if it is there, and one that was moved there after a call.

    Args:
        student: The submission.
        build: Makes a module on a device.
        device: The device.
        x: An input on the CPU.
        charged_to: The properties of which one charges for a module that can't be made there, or is somewhere else.
    """
    made, is_there = build(device), False
    with advice(student, device, MADE, lambda _: charged_to):
        parameters = made.parameters()
        require(bool(parameters), say(REGISTERED, n=0, wanted=1))
        check_on([parameter.value for parameter in parameters], device, say("the parameter"))
        is_there = True
    if is_there:
        yield made
    moved = build("cpu")
    moved(x)
    yield moved.to(device)


def answers(module: StudentModule, x: Tensor, on_cpu: Tensor | None = None) -> bool:
    """Whether a module answers on its input's device, and like ``on_cpu``, if given; if not, others charge for it."""

    def ask() -> None:
        output = module(x)
        check_on([output], str(x.device), say("the output"))
        if on_cpu is not None:
            check_alike(output, on_cpu, str(x.device))

    return succeeds(ask)


def check_alike(actual: Tensor, on_cpu: Tensor, device: str, what: Message = OUTPUT) -> None:
    """Require the CPU's output on another device; numbers that are not finite on the CPU are not compared."""
    check_like(actual, torch.empty(on_cpu.shape, dtype=on_cpu.dtype, device=device))
    expected = on_cpu.detach().cpu().double()
    actual = actual.detach().cpu().where(expected.isfinite(), 0)
    expected = expected.where(expected.isfinite(), 0)
    scale = torch.full_like(expected, float(expected.abs().amax()) if expected.numel() else 0.0)
    check_errors(
        error_in_ulp(actual, expected, scale, on_cpu.dtype), LIMIT, BESIDE.filled(what=what), actual, expected, scale
    )


def check_on(values: list[Tensor], device: str, what: Message) -> None:
    """Require the tensors of a module to be on a device."""
    for value in values:
        require(value.device.type == torch.device(device).type, elsewhere(what, value.device, device))
