"""Task 1: how gamma is registered and drawn, and the arguments of the constructor."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.axes import in_turns
from grader.assignment.hidden.conditions import check_beside, in_mode, succeeds
from grader.assignment.hidden.construction import (
    CALLED,
    FIRST_TOO,
    RESET,
    check_defaults,
    check_drawn,
    check_only_parameter,
    check_redrawn,
    check_refusal,
    check_sizes_named,
    told_refused,
    unseeded,
)
from grader.assignment.hidden.devices import check_on
from grader.assignment.hidden.norm_inputs import FORWARD, build
from grader.assignment.model.draw_words import Draw
from grader.assignment.model.normalising import (
    BY_CONTRACT,
    CONTRACT,
    LARGE,
    NOTHING,
    SIGNS,
    UNEVEN,
    UNLIKE,
    filled,
    fits,
    normalising,
)
from grader.assignment.model.outputs import numbers
from grader.assignment.model.parameters import drawn
from grader.testing import (
    Crashed,
    Student,
    StudentModule,
    WrongAnswer,
    check_close,
    contract_first,
    dtypes,
    require,
    say,
    stated,
)

BAD_SIZES = pytest.mark.parametrize(("hidden", "group_size"), [(100, 7), (8, 16)], ids=["100_by_7", "8_by_16"])


def drawn_gamma(student: Student, module: StudentModule, device: str) -> Tensor:
    """``[h]``: gamma as the module holds it, in whatever layout; or else measured on features of one large size."""
    value = drawn(module, 64)
    if value is None:
        token = LARGE * torch.tensor(SIGNS[:8] * 8).repeat(2, 2, 1)
        reading = normalising(student)
        law = reading.law or CONTRACT
        if reading.charges:
            student.excuse(WrongAnswer(say("gamma is not found in the module")), *reading.charges)
        value = (numbers(module(token.to(device)), token.shape) / law(token, 8))[0, 0].float()
    return value.flatten()


@pytest.mark.rubric("norm_init_and_reset")
@in_turns("again", "bounds", even=(-1.0, 1.0), lopsided=(0.0, 2.0), above_zero_with_seed_zero=(2.0, 5.0))
def test_gamma_is_drawn_uniformly_with_the_seed(
    student: Student, bounds: tuple[float, float], dtype: torch.dtype, again: bool, device: str
) -> None:
    draw, init_seed = Draw("uniform", *bounds), 0 if bounds[0] > 0 else 1_000_000 + student.seed
    over = say("{what} over {range}", range=str(list(bounds)))

    def make() -> StudentModule:
        sizes = {"hidden_size": 64, "group_size": 8, "init_range": bounds, "init_seed": init_seed}
        return student.GroupRMSNorm(**sizes, dtype=dtype, device=device)

    def check_in(training: bool, beside: bool, again: bool) -> None:
        module = make().train(training)
        if beside:
            student.GroupRMSNorm(hidden_size=16, group_size=4, init_range=(8.0, 9.0), init_seed=3)
        if again:
            filled(module, 7.0, 64, 8).reset_parameters()
        check_drawn(drawn_gamma(student, module, device), draw, init_seed, dtype, device, over, *[RESET] * again)

    def check(beside: bool, again: bool = again) -> None:
        in_mode(partial(check_in, beside=beside, again=again), dtype is not torch.float16)

    try:
        check_beside(student, check)
    except Crashed as crash:
        if dtype is torch.float32:
            raise
        student.excuse(crash, ("norm_registration_and_arguments",))  # which charges for a refused dtype
    except WrongAnswer as fault:
        first = FIRST_TOO if again and not succeeds(lambda: check(False, False)) else None
        raise fault.with_more(first, unseeded(student, lambda: drawn_gamma(student, make(), device), fault)) from None


@pytest.mark.rubric("norm_registration_and_arguments")
@dtypes
def test_gamma_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    hidden, group_size = (24, 4) if dtype is torch.float16 else (16, 16)
    module = student.GroupRMSNorm(hidden_size=hidden, group_size=group_size, dtype=dtype, device=device)
    try:
        check_only_parameter(module, hidden, dtype, device)
    except Crashed as crash:
        others = succeeds(lambda: student.GroupRMSNorm(hidden_size=24, group_size=4).parameters())
        called = say(CALLED, sizes=stated(hidden_size=hidden, group_size=group_size))
        raise crash.with_more(called if others else None) from None
    if dtype is torch.float32:  # one dtype shows the rest
        require(not module.buffers(), say("a buffer is registered; this module has none"))
        check_redrawn(module, hidden, device)


# Near the root of the default eps, and near that eps: what is added may be its square. Below that eps: it may be a
# floor of the root. An eps that is added to the reciprocal shows only in a call with nothing but large numbers.
SMALL = torch.tensor([[3e-3], [1e-5], [3e-3], [1e-7]] * 2).mul(torch.tensor(SIGNS[:8])).flatten().repeat(2, 2, 1)


def defaults_by_contract(student: Student) -> None:
    module = student.GroupRMSNorm(hidden_size=64, group_size=8)
    gamma = check_only_parameter(module, 64, torch.float32, "cpu", say("by default"))
    check_drawn(gamma.flatten(), Draw("uniform", -1.0, 1.0), 42, torch.float32, "cpu")
    require(not student.time.has_hung("GroupRMSNorm"), say("not checked: an earlier call of forward failed"))
    output = filled(module, 1.0, 64, 8)(SMALL)
    expected = oracle.rms_norm(SMALL, torch.ones(64), 8, 1e-5)
    check_close(output, expected, expected.abs(), torch.float32, 2.0**10, say("output with the default eps"))


@pytest.mark.rubric("norm_registration_and_arguments")
@contract_first(defaults_by_contract, "norm_init_and_reset", *FORWARD)
def test_arguments_have_the_defaults_of_the_stub(student: Student) -> None:
    sizes, reading = {"hidden_size": 64, "group_size": 8}, normalising(student)
    check_only_parameter(student.GroupRMSNorm(**sizes), 64, torch.float32, "cpu", say("by default"))

    def gamma(**arguments: Any) -> Tensor:
        return drawn_gamma(student, student.GroupRMSNorm(**sizes, **arguments), "cpu")

    def output(**arguments: Any) -> Tensor:
        module = student.GroupRMSNorm(**sizes, **arguments).train(reading.training)
        filled(module, 1.0, 64, 8)
        return torch.cat([numbers(module(x), x.shape) for x in (SMALL, LARGE * SMALL.sign())])

    check_defaults(gamma, init_range=(-1.0, 1.0), init_seed=42)
    if reading.read and reading.works:  # other properties charge for a forward that does nothing
        check_defaults(output, eps=1e-5)


@pytest.mark.rubric("norm_registration_and_arguments")
@BAD_SIZES
def test_a_group_size_that_does_not_divide_is_refused(student: Student, hidden: int, group_size: int) -> None:
    try:
        check_refusal(student.GroupRMSNorm, hidden_size=hidden, group_size=group_size)
    except WrongAnswer as fault:
        raise fault.with_more(told_refused(student.GroupRMSNorm, hidden_size=8, group_size=16)) from None


@pytest.mark.rubric("norm_sizes_named")
def test_a_group_size_that_divides_is_accepted(student: Student) -> None:
    student.GroupRMSNorm(hidden_size=24, group_size=4).parameters()


@pytest.mark.rubric("norm_sizes_named")
@BAD_SIZES
def test_the_error_names_the_sizes(student: Student, hidden: int, group_size: int) -> None:
    check_sizes_named(student.GroupRMSNorm, hidden_size=hidden, group_size=group_size)


@pytest.mark.rubric("norm_mixed_devices")
def test_the_output_is_on_the_device_of_the_input(student: Student, device: str) -> None:
    """All that this property asks for where there is no second device, of a module that does something."""
    x = LARGE * torch.tensor(UNEVEN).repeat(2, 2, 1)
    inputs = (x, 2 * x, x * UNLIKE)
    outputs = [build(student, 4, device, reading=BY_CONTRACT)(one.to(device)) for one in inputs]
    plain, twice, other = (numbers(output, x.shape) for output in outputs)
    require(bool((plain - other).nan_to_num(0.0).any()) and not fits(twice, 2 * plain), NOTHING)
    check_on(outputs, device, say("the output"))
