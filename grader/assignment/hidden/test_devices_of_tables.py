"""Task 4 on a second device: tables are made there, follow the module, grow there, or are not on the input's device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.conditions import succeeds
from grader.assignment.hidden.devices import (
    ANSWERED,
    FOLLOWED,
    MADE,
    PASSED_BACK,
    TABLES,
    advice,
    check_alike,
    check_on,
    may_refuse,
    on_the_cpu,
)
from grader.assignment.hidden.ropes import DIM, KEPT, MIDDLE, MS, OTHERS, construct, growing, kinds
from grader.assignment.model.parameters import gradient_of_input
from grader.testing import (
    Crashed,
    Student,
    StudentFault,
    StudentModule,
    check_shape,
    label,
    normal,
    require,
    say,
    uniform,
)

CALLED_BEFORE = (
    "\nWithout the call with s = {s} before module.to() it is right: a tensor kept from it is on the old device."
)
LEFT_BEHIND = "with growth {when} module.to(), a buffer is on {here}, not on {there}"


def charged(student: Student, *places: tuple[str, str]) -> Callable[[StudentFault], tuple[str, ...]]:
    """Who charges for a module's fault: the function, where its output is not on the input's device, either.

    Args:
        student: The submission.
        places: Where tables are, and where the input is.
    """

    def rotates(home: str, device: str) -> bool:
        x, cos, sin = rotary_arguments(student.seed)
        try:
            output = student.apply_rotary_pos_emb(x.to(device), cos.to(home), sin.to(home))
        except Crashed:
            return home != device  # torch may refuse that
        return output.device.type == torch.device(device).type

    def by(fault: StudentFault) -> tuple[str, ...]:
        if fault.error_ulp is not None:  # about numbers alone: place, shape and dtype are right
            return (*KEPT, "rope_buffers")
        return () if all(rotates(*place) for place in places) else ("rotary_dtype",)

    return by


def rotary_arguments(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Input, cosines and sines."""
    angles = uniform(seed, "angles", shape=(3, DIM // 2), low=-3.0, high=3.0).repeat(1, 2)
    return normal(seed, "x", shape=(2, 3, 4, DIM)), angles.cos(), angles.sin()


@pytest.mark.rubric("rotary_dtype")
def test_the_output_is_on_the_device_of_the_input_or_nowhere(student: Student, other_device: str) -> None:
    x, cos, sin = rotary_arguments(student.seed)
    with on_the_cpu(student, *OTHERS):
        on_cpu = student.apply_rotary_pos_emb(x, cos, sin)
    with advice(student, other_device, ANSWERED):
        output = student.apply_rotary_pos_emb(x.to(other_device), cos.to(other_device), sin.to(other_device))
        check_alike(output, on_cpu, other_device)
    for home, device in ((other_device, "cpu"), ("cpu", other_device)):
        with advice(student, other_device, TABLES), may_refuse():
            output = student.apply_rotary_pos_emb(x.to(device), cos.to(home), sin.to(home))
            check_alike(output, on_cpu, device)


@pytest.mark.rubric("rotary_backward")
def test_the_gradient_of_the_input_arrives_on_its_device(student: Student, other_device: str) -> None:
    x, cos, sin = rotary_arguments(student.seed)
    upstream = normal(student.seed, "upstream", shape=tuple(x.shape))
    with on_the_cpu(student, *OTHERS):
        found = student.apply_rotary_pos_emb.gradients(x, cos, sin, upstream=upstream)
        on_cpu = gradient_of_input(found.of_arguments)
    with advice(student, other_device, PASSED_BACK, charged(student, (other_device, other_device))):
        there = tuple(tensor.to(other_device) for tensor in (x, cos, sin))
        found = student.apply_rotary_pos_emb.gradients(*there, upstream=upstream.to(other_device))
        actual = gradient_of_input(found.of_arguments)
        check_alike(actual, on_cpu, other_device, say("the gradient of {where}", where=say("the input")))


@pytest.mark.rubric("rope_buffers")
def test_tables_are_made_on_the_device_that_is_asked_for(student: Student, other_device: str) -> None:
    with advice(student, other_device, MADE):
        module = construct(student, other_device, 2)
        check_on([buffer.value for buffer in module.buffers()], other_device, say("a buffer"))


@pytest.mark.rubric("rope_buffers")
def test_tables_follow_the_module_to_another_device(student: Student, other_device: str) -> None:
    """Tables that have grown before the module moves, and tables that grow after it."""
    with on_the_cpu(student, *KEPT), growing(student, dynamic=True):
        has_grown = grown(student, True)

    def charged_for(fault: StudentFault) -> tuple[str, ...]:
        follows = partial(grown(student, True).to("cpu"), torch.ones(1, MIDDLE, 1, DIM))
        return charged(student, (other_device, other_device))(fault) or (() if succeeds(follows) else KEPT)

    for when, module in ((say("before"), has_grown), (say("after"), new(student, True))):
        with advice(student, other_device, FOLLOWED, charged_for):
            module.to(other_device)(torch.ones(1, MIDDLE, 1, DIM, device=other_device))
            for here in (buffer.value.device for buffer in module.buffers()):
                told = say(LEFT_BEHIND, when=when, here=label(str(here)), there=label(other_device))
                require(here.type == torch.device(other_device).type, told)


@pytest.mark.rubric("rope_buffers")
@kinds
def test_a_module_answers_on_the_device_that_it_is_on(student: Student, dynamic: bool, other_device: str) -> None:
    """Longer than the tables, and short again if they grow; moved there before they grow, and after.

    What a module has grown to before, a short call shows: a long one grows to the same again.
    """
    for build, lengths in ((new, (MIDDLE, MS)), (grown, (MS, MIDDLE + 2 * MS))) if dynamic else ((grown, (MIDDLE,)),):
        with on_the_cpu(student, *KEPT), growing(student, dynamic=dynamic):
            on_cpu = answered(build(student, dynamic), student.seed, "cpu", lengths)
        with advice(student, other_device, ANSWERED, charged(student, (other_device, other_device))):
            module = build(student, dynamic).to(other_device)
            try:
                for length, output in answered(module, student.seed, other_device, lengths).items():
                    check_alike(output, on_cpu[length], other_device)
            except StudentFault as fault:
                uncalled = partial(
                    answered, new(student, dynamic).to(other_device), student.seed, other_device, lengths
                )
                kept = build is grown and succeeds(uncalled)
                raise fault.with_more(say(CALLED_BEFORE, s=MIDDLE) if kept else None) from None


@pytest.mark.rubric("rope_buffers")
@kinds
def test_the_output_of_a_module_is_on_the_device_of_the_input_or_nowhere(
    student: Student, dynamic: bool, other_device: str
) -> None:
    """A call may move the tables or not; the next call must answer in either case. A static module keeps nothing."""
    lengths = (MIDDLE, MS) if dynamic else (MIDDLE,)
    with on_the_cpu(student, *KEPT), growing(student, dynamic=dynamic):
        on_cpu = answered(new(student, dynamic), student.seed, "cpu", lengths)
    for home, device in ((other_device, "cpu"), ("cpu", other_device)):
        module = new(student, dynamic).to(home)
        for length in lengths:  # each is asked for, whether or not the one before was refused, as of the reference
            places = charged(student, (home, device), (device, device))
            with advice(student, other_device, TABLES, places), may_refuse():
                for output in answered(module, student.seed, device, [length]).values():
                    check_alike(output, on_cpu[length], device)


def answered(module: Callable[[Tensor], Tensor], seed: int, device: str, lengths: Sequence[int]) -> dict[int, Tensor]:
    """What a module gives for inputs of these lengths, one after the other; by length."""
    outputs = {}
    for x in (normal(seed, length, shape=(1, length, 1, DIM)).to(device) for length in lengths):
        outputs[x.shape[1]] = output = module(x)
        if output.numel() != x.numel():  # another number of dimensions is charged elsewhere, and can be compared
            check_shape(output, x.shape)
    return outputs


def new(student: Student, dynamic: bool) -> StudentModule:
    """A small module on the CPU."""
    return construct(student, "cpu", dynamic=dynamic)


def grown(student: Student, dynamic: bool) -> StudentModule:
    """A small module on the CPU that has been called with a long sequence there."""
    module = new(student, dynamic)
    module(torch.ones(1, MIDDLE, 1, DIM))
    return module
