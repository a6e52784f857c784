"""Task 1: what a call leaves behind: input, gamma and mode have no part in later outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.conditions import (
    AFTER,
    IN_EVALUATION,
    check_untouched,
    failing_in,
    right_alone,
    told_others,
)
from grader.assignment.hidden.norm_inputs import FORWARD, build, check_law
from grader.assignment.model.histories import Step, check_history, is_random, updated_in_both_modes
from grader.assignment.model.normalising import BY_CONTRACT, Normalising, normalising, require_division
from grader.assignment.model.outputs import numbers
from grader.testing import (
    ALONE,
    DTYPES,
    Crashed,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_equal,
    contract_first,
    name,
    normal,
    quoted,
    require,
    say,
    uniform,
)


def given(seed: int, dtype: torch.dtype) -> Tensor:
    """So large that what is clamped in place, or in one mode, shows; no square overflows in float16."""
    x = normal(seed, "purity", shape=(2, 3, 24)) * 32
    if dtype is not torch.float16:
        x[1, 2] *= 2.0**8  # still float16 numbers, since norm_float32_inside charges for what overflows
    return x.to(dtype)


# Modules that are called before the one that is judged: a cache that goes by the arguments that are alike takes one for
# the other. In the first case, since what a cache has, it may keep; so the one with both sizes alike comes last.
BESIDE: tuple[dict[str, Any], ...] = (
    {"hidden_size": 24, "group_size": 8, "eps": 1e4},
    {"hidden_size": 48, "group_size": 4, "eps": 1e4},
    {"hidden_size": 24, "group_size": 4, "eps": 1e4},
)


def purity_by_contract(
    student: Student, dtype: torch.dtype, device: str, beside: Sequence[Mapping[str, Any]] = BESIDE
) -> None:
    x = given(student.seed, dtype)
    for sizes in beside if dtype is torch.float32 else ():
        student.GroupRMSNorm(**sizes, device=device)(torch.ones(2, 3, sizes["hidden_size"], device=device))
    output = check_that_nothing_changes(student, BY_CONTRACT, x, device)
    check_law(
        numbers(output, x.shape),
        oracle.rms_norm(x, torch.full((24,), 2.0), 4, 1e-5),
        say("{dtype} output", dtype=name(dtype)),
    )


@pytest.mark.rubric("norm_purity")
@contract_first(purity_by_contract, *FORWARD, "norm_registration_and_arguments")
@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64], ids=name)
def test_the_input_stays_as_it_was(student: Student, dtype: torch.dtype, device: str) -> None:
    check = partial(purity_by_contract, student, dtype, device)
    if right_alone(student, lambda: check(())):
        try:
            check()
        except WrongAnswer as fault:
            raise fault.with_more(ALONE, *told_others(student, check, BESIDE)) from None
        except Crashed as crash:  # such an eps may be refused
            student.excuse(crash, ("norm_eps_inside_sqrt",))
    reading = require_division(student)
    if not reading.takes(dtype, torch.float32):
        return  # norm_dtype_and_shape charges for it
    try:
        check_that_nothing_changes(student, reading, given(student.seed, dtype), device)
    except Crashed as crash:
        if dtype is not torch.float64:
            raise
        student.excuse(crash, ("norm_dtype_and_shape",))


def check_that_nothing_changes(student: Student, reading: Normalising, x: Tensor, device: str) -> Tensor:
    """Require input, gamma and mode to have no part in what a call leaves; returns the output.

    In float64 only of the input, which a conversion to float64 does not copy. Gamma is one number in every place,
    twice the neutral one or more, so that a mode which leaves it out shows.
    """
    x, dtype = x.to(device), x.dtype
    gamma = reading.neutral + 1
    module = build(student, 4, device, gamma=gamma, reading=replace(reading, drawn_late=False))
    wide = dtype is torch.float64
    known = reading is BY_CONTRACT  # gamma is filled then, whatever its layout
    before = None if wide or known else module.held(24)

    def check(after: list[Tensor]) -> None:
        check_equal(after[0], x, AFTER.filled(what=say("the input")))

    output, *evaluated = check_untouched(module, x, check=check, modes=(True,) if wide else (True, False))
    numbers(output, x.shape)  # as many as there should be; norm_dtype_and_shape charges for another shape
    after_call = None if wide else module.held(24)
    if known and after_call is not None:
        before = torch.full(after_call.shape, gamma, device=after_call.device)
    for other in evaluated:
        try:
            check_equal(other, output, IN_EVALUATION)
        except WrongAnswer as fault:
            alike = partial(check_alike, module, x, other)
            is_right = not reading.training or output.dtype != x.dtype == other.dtype
            raise fault.with_more(failing_in(True, alike) if is_right else None) from None
    if before is not None and after_call is not None:
        check_gamma_dtype(after_call, before.dtype, dtype)
        check_equal(after_call, before, AFTER.filled(what=quoted("gamma")))
    return output


def check_gamma_dtype(after: Tensor, built: torch.dtype, called: torch.dtype) -> None:
    """Require gamma to have the dtype after a call with which it was built."""
    require(
        after.dtype == built,
        say(
            "gamma is {dtype} after a {call} call; it was built as {built}",
            dtype=name(after.dtype),
            call=name(called),
            built=name(built),
        ),
    )


def check_alike(module: StudentModule, x: Tensor, wanted: Tensor, training: bool) -> None:
    """Require an output in one mode, which the other one gives."""
    check_equal(module.train(training)(x), wanted, IN_EVALUATION)


@pytest.mark.rubric("norm_purity")
def test_earlier_calls_leave_no_trace(student: Student, device: str) -> None:
    gammas = tuple(
        uniform(student.seed, "history", which, shape=(24,), low=0.5, high=2.0).bfloat16() for which in range(2)
    )
    more, narrow = (normal(student.seed, "more", shape=shape).to(device) for shape in ((3, 3, 24), (3, 2, 24)))
    calls = [(normal(student.seed, "call", k, shape=(2, 3, 24)) * 4.0**k).to(device) for k in range(2)]
    updates = [Step(update=(gamma, gamma[:4])) for gamma in (gammas[1], gammas[0])]
    other = Step(other=lambda: student.GroupRMSNorm(hidden_size=16, group_size=8, eps=0.01))

    def make(values: tuple[Tensor, ...]) -> StudentModule:
        return build(student, 4, device, gamma=values[0], gamma_dtype=torch.bfloat16, reading=BY_CONTRACT)

    def excuse(fault: StudentFault) -> None:
        # A gamma that the first call makes cannot be filled before it.
        unmade = ("norm_registration_and_arguments",) * normalising(student).made_late
        student.excuse(fault, ("norm_groups", "norm_purity") if is_random(fault) else (*FORWARD, *unmade))

    alike = Step(other=lambda: make(gammas[1:]), alike=True)
    check_history(
        make,
        # the last one built is unlike, since it may be remembered
        [
            alike,
            other,
            Step(input=more),
            Step(input=narrow.bfloat16()),
            *updated_in_both_modes([calls[0], *calls], updates),
        ],
        (gammas[0],),
        excuse,
    )
    try:
        after = make(gammas[:1]).after(calls[0]).held(24)
        built = after if after is None or after.dtype is torch.bfloat16 else make(gammas[:1]).held(24)
    except StudentFault as fault:
        return excuse(fault)
    if after is not None and built is not None:  # norm_registration_and_arguments charges for what it was built as
        check_gamma_dtype(after, built.dtype, torch.float32)
