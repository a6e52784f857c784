"""Task 1: parameters and their initialisation, arguments, gradients, and what a call leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.axes import in_turns
from grader.assignment.hidden.conditions import (
    AFTER,
    IN_EVALUATION,
    check_beside,
    check_untouched,
    failing_in,
    in_mode,
    passed_back,
    right_alone,
    stating,
    succeeds,
    told_others,
)
from grader.assignment.hidden.construction import (
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
from grader.assignment.hidden.norm_gradients import EPS, Asked, asked
from grader.assignment.hidden.norm_inputs import FORWARD, OF_ZEROS, build, check_law, followed, gamma_dtypes
from grader.assignment.model.differences import check_differences
from grader.assignment.model.draw_words import Draw
from grader.assignment.model.gradient_words import THROUGH, told_cut, told_of_gamma, told_of_input
from grader.assignment.model.histories import Step, check_history, is_random, updated_in_both_modes
from grader.assignment.model.normalising import (
    BY_CONTRACT,
    CONTRACT,
    LARGE,
    NOTHING,
    SIGNS,
    UNEVEN,
    UNLIKE,
    Normalising,
    filled,
    fits,
    normalising,
    numbers,
    require_division,
)
from grader.assignment.model.parameters import OF_INPUT, drawn, gradient_of, gradient_of_input
from grader.testing import (
    ALONE,
    DTYPES,
    INPUT_GRADIENT_LIMIT,
    PARAMETER_GRADIENT_LIMIT,
    Crashed,
    Message,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_close,
    check_equal,
    check_shape,
    coarser,
    contract_first,
    dtypes,
    kept,
    name,
    normal,
    quoted,
    require,
    say,
    signs,
    stated,
    uniform,
)

BAD_SIZES = pytest.mark.parametrize(("hidden", "group_size"), [(100, 7), (8, 16)], ids=["100_by_7", "8_by_16"])
OF_GAMMA = "{dtype} gradient of gamma, {sizes}"
ALONE_TAKING = {
    "arguments": say("\nGamma is frozen here, by gamma.requires_grad_(False); where it is not, this passes."),
    "parameters": say("\nThe input requires no gradient here, as in a first layer; where it does, this passes."),
}
FAR = 2.0**14  # how many times larger an input is, next to which eps is nothing
OF_FAR = say("the input")
FAR_RIGHT = say("for a far larger input, next to which eps is nothing, it is right")
ROUGH = 2.0**-4  # of a gradient's size: the error of 16-bit arithmetic, which norm_float32_inside charges for


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
    student: Student, seed: int, bounds: tuple[float, float], dtype: torch.dtype, again: bool, device: str
) -> None:
    draw, init_seed = Draw("uniform", *bounds), 0 if bounds[0] > 0 else 1_000_000 + seed
    over = say("{what} over {range}", range=str(list(bounds)))

    def make() -> StudentModule:
        sizes = {"hidden_size": 64, "group_size": 8, "init_range": bounds, "init_seed": init_seed}
        return student.GroupRMSNorm(**sizes, dtype=dtype, device=device)

    def check(beside: bool, again: bool = again) -> None:
        module = make()
        if beside:
            student.GroupRMSNorm(hidden_size=16, group_size=4, init_range=(8.0, 9.0), init_seed=3)
        if again:
            filled(module, 7.0, 64, 8).reset_parameters()
        check_drawn(drawn_gamma(student, module, device), draw, init_seed, dtype, device, over, *[RESET] * again)

    try:
        check_beside(student, check)
    except WrongAnswer as fault:
        first = FIRST_TOO if again and not succeeds(lambda: check(False, False)) else None
        raise fault.with_more(first, unseeded(student, lambda: drawn_gamma(student, make(), device), fault)) from None


@pytest.mark.rubric("norm_registration_and_arguments")
@dtypes
def test_gamma_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    hidden, group_size = (24, 4) if dtype is torch.float16 else (16, 16)
    module = student.GroupRMSNorm(hidden_size=hidden, group_size=group_size, dtype=dtype, device=device)
    check_only_parameter(module, hidden, dtype, device)
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


def gradients_by_contract(
    student: Student, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """In one mode or the other: a mode that cuts gradients is a mistake, whichever it is."""
    for row in asked(dtype, gamma_dtype):
        in_mode(partial(check_gradients, student, BY_CONTRACT, seed, row, device), row.training)


def gradients_by(
    student: Student, reading: Normalising, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Compare with the gradient of the law in a reading, wherever there is an output; without any, none arrives."""
    rows = asked(dtype, gamma_dtype)
    shown = [
        row
        for row in rows
        if succeeds(partial(new_module(student, reading, seed, row, device), row.tensors(seed)[0].to(device)))
    ]
    for row in rows if dtype is gamma_dtype is torch.float32 and not shown else shown:
        check_gradients(student, reading, seed, row, device, reading.training)


def new_module(student: Student, reading: Normalising, seed: int, row: Asked, device: str) -> StudentModule:
    """The module that a row asks for a gradient; other cases judge the default of eps."""
    _, _, gamma = row.tensors(seed)
    given: dict[str, Any] = {"hidden": len(gamma), "gamma": gamma, "gamma_dtype": gamma.dtype, "eps": row.eps}
    return build(student, row.group_size, device, **given, reading=reading)


def check_gradients(student: Student, reading: Normalising, seed: int, row: Asked, device: str, training: bool) -> None:
    """Compare a module's gradients with those of the law in a reading; by the contract, to the accuracy of the dtype.

    By a reading, a token whose output is wrong sends no gradient: other properties charge for such outputs.
    """
    law, by_contract = partial(reading.law or CONTRACT, eps=row.eps), reading is BY_CONTRACT
    x, upstream, gamma = row.tensors(seed)
    zeros = row.zeros(x) & by_contract
    x = row.input(x.masked_fill(zeros, 0))  # which is contiguous in memory, whatever x is
    unit = coarser(x.dtype, gamma.dtype)
    rough = not by_contract or unit is not torch.float32

    def output(x: Tensor) -> Tensor:
        return numbers(new_module(student, reading, seed, row, device).train(training)(x.to(device)), x.shape)

    def by_law(x: Tensor) -> Tensor:
        return law(x.double(), row.group_size) * gamma.double()

    if not by_contract:
        for near in (x, 2 * x):  # another law may meet this one at one size
            upstream = upstream * followed(output(near), by_law(near))
    gradients_of_law = partial(law_gradients, law, x, upstream=upstream, group_size=row.group_size, eps=row.eps)
    wanted_of_input, input_size, wanted_of_gamma, gamma_size = gradients_of_law(gamma)

    def check_far_from_eps() -> None:
        far = x.masked_fill(zeros, 1) * FAR
        wanted, size, *_ = law_gradients(law, far, gamma, upstream=upstream, group_size=row.group_size, eps=row.eps)
        module = new_module(student, reading, seed, row, device).train(training)
        found = gradient_of_input(module.gradients(far.to(device), upstream=upstream.to(device)).of_arguments, OF_FAR)
        check_gradient(found.reshape(x.shape), wanted, size, unit, INPUT_GRADIENT_LIMIT[unit], rough, OF_FAR)

    def check(arriving: Tensor, between: bool, alone: str = "") -> None:
        there, module = x.to(device), new_module(student, reading, seed, row, device).train(training)
        keys = [4 - there] * between
        found = module.gradients(there, upstream=arriving.to(device), between=keys, alone=alone)
        if alone != "parameters":
            check_of_input(found.of_arguments)
        if alone != "arguments":
            check_of_gamma(found.of_parameters)

    def check_of_input(found: list[Tensor | None]) -> None:
        of_input = gradient_of_input(found).reshape(x.shape)
        what, limit = say(OF_INPUT, dtype=name(x.dtype), sizes=row.told), INPUT_GRADIENT_LIMIT[unit]
        try:
            check_gradient(of_input, wanted_of_input, input_size, unit, limit, rough, what)
        except WrongAnswer as fault:
            seen, wanted, size = (tensor[~zeros] for tensor in (of_input.cpu(), wanted_of_input, input_size))
            others = partial(check_gradient, seen, wanted, size, unit, limit, rough, what)
            of_zeros = bool(zeros.any()) and succeeds(others)
            parts = partial(told_of_input, of_input, gradients_of_law, law(x, row.group_size), x, gamma, upstream)
            cut = partial(told_cut, of_input, gradients_of_law, x, gamma, upstream)
            far = [FAR_RIGHT] * (x.dtype is torch.float32 and succeeds(check_far_from_eps))
            raise fault.with_more(OF_ZEROS if of_zeros else None, parts, cut, *far) from None

    def check_of_gamma(found: list[Tensor | None]) -> None:
        of_gamma = gradient_of(found, "gamma").flatten()
        what = say(OF_GAMMA, dtype=name(gamma.dtype), sizes=row.told)
        try:
            check_gradient(of_gamma, wanted_of_gamma, gamma_size, unit, PARAMETER_GRADIENT_LIMIT[unit], rough, what)
        except WrongAnswer as fault:
            raise fault.with_more(*told_of_gamma(of_gamma, x, upstream)) from None

    passed_back(check, upstream, row.upstream, row.between)
    if row.alone:
        with stating(ALONE_TAKING[row.alone]):
            check(row.upstream(upstream), row.between, row.alone)


@pytest.mark.rubric("norm_backward")
@contract_first(gradients_by_contract, *FORWARD)
@gamma_dtypes
@dtypes
def test_gradients_flow_to_input_and_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Compared with the gradient of the law that the outputs follow, right or wrong; if none is known, see below."""
    reading = require_division(student)
    if not reading.takes(dtype, gamma_dtype):
        return  # charged to the dtypes
    if reading.changes_input:
        check_overwritten(student, reading, seed, gamma_dtype, dtype, device)
    elif reading.law is not None and reading.gamma_right:
        if reading.law != CONTRACT and not dtype is gamma_dtype is torch.float32:
            return  # another law may cancel digits that 16 bits do not have
        gradients_by(student, reading, seed, gamma_dtype, dtype, device)
    elif dtype is gamma_dtype is torch.float32:
        check_gradients_by_differences(student, seed, device)
    if dtype is gamma_dtype is torch.float32 and not reading.changes_input:
        check_zeros(student, reading, device)


def check_zeros(student: Student, reading: Normalising, device: str) -> None:
    """Require the gradient of the law for an input of zeros, if the outputs there and close by follow the law.

    If no law is known, tokens or groups are mixed, which are alike here; gamma is neutral.
    """
    law, sizes = partial(reading.law or CONTRACT, eps=EPS), stated(hidden_size=24, group_size=4, eps=f"{EPS:g}")
    module, near = build(student, 4, device, eps=EPS), 1e-3 * reading.signs.repeat(2, 3, 1)
    zeros, upstream = torch.zeros_like(near), near.sign()
    for x in (zeros, near):
        output = module(x.to(device))
        if not succeeds(partial(check_law, numbers(output, x.shape), law(x, 4), quoted("output"))):
            return
    wanted, size, *_ = law_gradients(law, zeros, torch.ones(24), upstream=upstream, group_size=4, eps=EPS)
    found = gradient_of_input(module.gradients(zeros.to(device), upstream=upstream.to(device)).of_arguments)
    what, limit = say(OF_INPUT, dtype="float32", sizes=sizes), INPUT_GRADIENT_LIMIT[torch.float32]
    with stating(OF_ZEROS):
        check_gradient(found.reshape(zeros.shape), wanted, size, torch.float32, limit, True, what)


def check_overwritten(
    student: Student, reading: Normalising, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Require gradients to arrive from a call that changes its input, unless autograd refuses; purity charges.

    A call with 16 bits may compute with a copy in float32, and change that. Then its gradient must be right.
    """
    for row in asked(dtype, gamma_dtype):
        x, upstream, _ = row.tensors(seed)
        module = new_module(student, reading, seed, row, device)
        with suppress(Crashed):
            gradient_of_input(module.gradients(x.to(device), upstream=upstream.to(device)).of_arguments)
            _, (after,) = module.observe(x.to(device))
            if torch.equal(after.cpu(), x) and reading.law is not None and reading.gamma_right:
                gradients_by(student, reading, seed, gamma_dtype, dtype, device)


@kept
def law_gradients(
    law: Callable[[Tensor, int], Tensor], x: Tensor, gamma: Tensor, upstream: Tensor, group_size: int, eps: float
) -> tuple[Tensor, ...]:
    """A law's gradients in float64: of the input, with its scale, and of gamma, with its scale."""
    leaf, weight = x.double().requires_grad_(), gamma.double().requires_grad_()
    terms = law(leaf, group_size) * weight * upstream.double()
    terms.sum().backward()
    assert leaf.grad is not None
    assert weight.grad is not None
    # The sum of the absolute terms of the contract's gradient, which cancel: u / r - x mean(u x) / r^3, in each group.
    groups = x.double().abs().unflatten(-1, (-1, group_size))
    arriving = (upstream.double() * gamma.double()).abs().unflatten(-1, (-1, group_size))
    root = (groups.square().mean(-1, keepdim=True) + eps).sqrt()
    through = (arriving / root + groups * (arriving * groups).mean(-1, keepdim=True) / root**3).flatten(-2)
    of_gamma = (terms / weight).detach().abs().flatten(0, -2).sum(0)
    return leaf.grad, leaf.grad.abs() + through, weight.grad, of_gamma


def check_gradient(
    gradient: Tensor, expected: Tensor, size: Tensor, unit: torch.dtype, limit: float, rough: bool, what: Message
) -> None:
    """Compare in ulp, or, if ``rough``, with a tolerance for 16-bit arithmetic and for another eps."""
    check_shape(gradient, expected.shape, what)
    try:
        check_close(gradient, expected, size, unit, limit, what)
    except WrongAnswer:
        off = (gradient.cpu().double() - expected).abs() <= ROUGH * size
        if not rough or not bool(off.all()):
            raise


def check_gradients_by_differences(student: Student, seed: int, device: str) -> None:
    """Compare with differences of the student's own outputs, on one token."""
    sizes = 16 + 5 * torch.arange(24) % 24 / 1.5  # the largest of each group is the largest after a step, too
    x, upstream = (signs(seed, key, shape=(1, 1, 24)) for key in ("x", "upstream"))
    x, upstream = x * sizes, upstream * uniform(seed, "upstream", shape=(1, 1, 24), low=1.0, high=2.0)
    reading = normalising(student)
    gamma = uniform(seed, "gamma", shape=(24,), low=0.5, high=2.0) if reading.fills else None
    module = build(student, 4, device, gamma=gamma)
    gradients = module.gradients(x.to(device), upstream=upstream.to(device))
    of_input = gradient_of_input(gradients.of_arguments).reshape(x.shape)
    by_input = partial(output_for, student, gamma, device)
    if reading.exact:  # or steps of rounding are all that differences show
        constant = upstream.double() * by_input(x) / x.double()  # what arrives if the divisor counts as a constant
        with stating(say(THROUGH, share="0")) if fits(of_input.cpu().double(), constant) else nullcontext():
            check_differences(of_input, by_input, x, upstream, say("the gradient of {where}", where=say("the input")))
    pieces = gradients.of_parameters
    if gamma is not None and reading.exact:
        of_gamma = gradient_of(pieces, "gamma") if any(g is not None for g in pieces) else torch.zeros(24)
        by_gamma = partial(output_for, student, device=device, x=x)
        check_differences(of_gamma, by_gamma, gamma, upstream, say("the gradient of {where}", where="gamma"))
    elif pieces:  # rounded, or of another size, which norm_gamma charges for
        require(bool(gradient_of(pieces[:1], "gamma").any()), say("no gradient reaches {where}", where="gamma"))


def output_for(student: Student, gamma: Tensor | None, device: str, x: Tensor) -> Tensor:
    """The output of a new module."""
    return numbers(build(student, 4, device, gamma=gamma)(x.to(device)), x.shape)


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
    student: Student, seed: int, dtype: torch.dtype, device: str, beside: Sequence[Mapping[str, Any]] = BESIDE
) -> None:
    x = given(seed, dtype)
    for sizes in beside if dtype is torch.float32 else ():
        student.GroupRMSNorm(**sizes, device=device)(torch.ones(2, 3, sizes["hidden_size"], device=device))
    output = check_that_nothing_changes(student, BY_CONTRACT, x, device)
    check_law(
        numbers(output, x.shape), oracle.rms_norm(x, torch.ones(24), 4, 1e-5), say("{dtype} output", dtype=name(dtype))
    )


@pytest.mark.rubric("norm_purity")
@contract_first(purity_by_contract, *FORWARD, "norm_registration_and_arguments")
@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64], ids=name)
def test_the_input_stays_as_it_was(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    check = partial(purity_by_contract, student, seed, dtype, device)
    if right_alone(student, lambda: check(())):
        try:
            check()
        except WrongAnswer as fault:
            raise fault.with_more(ALONE, *told_others(student, check, BESIDE)) from None
    reading = require_division(student)
    if not reading.takes(dtype, torch.float32):
        return  # norm_dtype_and_shape charges for it
    try:
        check_that_nothing_changes(student, reading, given(seed, dtype), device)
    except Crashed as crash:
        if dtype is not torch.float64:
            raise
        student.excuse(crash, ("norm_dtype_and_shape",))


def check_that_nothing_changes(student: Student, reading: Normalising, x: Tensor, device: str) -> Tensor:
    """Require input, gamma and mode to have no part in what a call leaves; returns the output.

    In float64 only of the input, which a conversion to float64 does not copy.
    """
    x, dtype = x.to(device), x.dtype
    module = build(student, 4, device, reading=reading)
    wide = dtype is torch.float64
    known = reading is BY_CONTRACT  # gamma is filled with ones then, whatever its layout
    before = None if wide or known else module.held(24)

    def check(after: list[Tensor]) -> None:
        check_equal(after[0], x, AFTER.filled(what=say("the input")))

    output, *evaluated = check_untouched(module, x, check=check, modes=(True,) if wide else (True, False))
    numbers(output, x.shape)  # as many as there should be; norm_dtype_and_shape charges for another shape
    after_call = None if wide else module.held(24)
    if known and after_call is not None:
        before = torch.ones(after_call.shape, device=after_call.device)
    for other in evaluated:
        try:
            check_equal(other, output, IN_EVALUATION)
        except WrongAnswer as fault:
            alike = partial(check_alike, module, x, other)
            is_right = not reading.training or output.dtype != x.dtype == other.dtype
            raise fault.with_more(failing_in(True, alike) if is_right else None) from None
    if before is not None and after_call is not None:
        told = say("gamma is {dtype} after a {call} call", dtype=name(after_call.dtype), call=name(dtype))
        require(after_call.dtype == before.dtype, told)
        check_equal(after_call, before, AFTER.filled(what=quoted("gamma")))
    return output


def check_alike(module: StudentModule, x: Tensor, wanted: Tensor, training: bool) -> None:
    """Require an output in one mode, which the other one gives."""
    check_equal(module.train(training)(x), wanted, IN_EVALUATION)


@pytest.mark.rubric("norm_purity")
def test_earlier_calls_leave_no_trace(student: Student, seed: int, device: str) -> None:
    gammas = tuple(uniform(seed, "history", which, shape=(24,), low=0.5, high=2.0).bfloat16() for which in range(2))
    more, narrow = (normal(seed, "more", shape=shape).to(device) for shape in ((3, 3, 24), (3, 2, 24)))
    calls = [(normal(seed, "call", k, shape=(2, 3, 24)) * 4.0**k).to(device) for k in range(2)]
    updates = [Step(update=(gamma, gamma[:4])) for gamma in (gammas[1], gammas[0])]
    other = Step(other=lambda: student.GroupRMSNorm(hidden_size=16, group_size=8, eps=0.75))

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
