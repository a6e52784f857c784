"""Task 1: the gradients of input and gamma, compared with those of the law that the outputs follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.conditions import in_mode, only_if, passed_back, stating, succeeds
from grader.assignment.hidden.norm_gradients import ALONE_TAKING, EPS, Asked, asked
from grader.assignment.hidden.norm_inputs import FORWARD, OF_ZEROS, build, check_law, followed, gamma_dtypes
from grader.assignment.model.differences import check_differences
from grader.assignment.model.gradient_words import THROUGH, told_cut, told_of_gamma, told_of_input
from grader.assignment.model.normalising import BY_CONTRACT, CONTRACT, Normalising, fits, normalising, require_division
from grader.assignment.model.outputs import numbers
from grader.assignment.model.parameters import OF_INPUT, gradient_of, gradient_of_input
from grader.testing import (
    INPUT_GRADIENT_LIMIT,
    PARAMETER_GRADIENT_LIMIT,
    Crashed,
    Message,
    Student,
    StudentModule,
    WrongAnswer,
    check_close,
    check_shape,
    coarser,
    contract_first,
    dtypes,
    kept,
    name,
    quoted,
    require,
    say,
    signs,
    stated,
    uniform,
)

OF_GAMMA = "{dtype} gradient of gamma, {sizes}"
FAR = 2.0**14  # how many times larger an input is, next to which eps is nothing
OF_FAR = say("the input")
ZERO_GAMMA = "the gamma of feature {n} is 0 here"
FAR_RIGHT = say("for a far larger input, next to which eps is nothing, it is right")
ROUGH = 2.0**-4  # of a gradient's size: the error of 16-bit arithmetic, which norm_float32_inside charges for


def gradients_by_contract(student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str) -> None:
    """In one mode or the other: a mode that cuts gradients is a mistake, whichever it is."""
    for row in asked(dtype, gamma_dtype):
        check = partial(check_gradients, student, BY_CONTRACT, row, device)
        try:
            in_mode(check, row.training)
        except (WrongAnswer, Crashed) as fault:
            if are_modes_alike(student, BY_CONTRACT, row, device):
                raise
            check(not row.training)
            student.excuse(fault, ("norm_purity",))


def gradients_by(
    student: Student, reading: Normalising, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Compare with the gradient of the law in a reading, wherever there is an output; without any, none arrives."""
    shown = answered(student, reading, gamma_dtype, dtype, device)
    is_float32 = dtype is gamma_dtype is torch.float32
    for row in shown or asked(dtype, gamma_dtype) * is_float32:
        check = partial(check_gradients, student, reading, row._replace(alone=row.alone or "arguments"), device)
        check(reading.training)
        if row.training is not reading.training and are_modes_alike(student, reading, row, device):
            with student.excused("norm_purity"):
                in_mode(check, row.training)


def answered(
    student: Student, reading: Normalising, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> list[Asked]:
    """The rows with these dtypes for which there is an output."""

    def ask(row: Asked) -> Tensor:
        return new_module(student, reading, row, device)(row.tensors(student.seed)[0].to(device))

    return [row for row in asked(dtype, gamma_dtype) if succeeds(partial(ask, row))]


def are_modes_alike(student: Student, reading: Normalising, row: Asked, device: str) -> bool:
    """Whether the output is the same in both modes; if not, the property about what calls leave charges."""
    x, new = row.tensors(student.seed)[0].to(device), partial(new_module, student, reading, row, device)
    with suppress(Crashed):
        return are_alike(new().train(True)(x), new().train(False)(x), x.shape)
    return False


def are_alike(one: Tensor, other: Tensor, shape: torch.Size) -> bool:
    """Whether two outputs of that shape are the same, also where they are no numbers."""
    one, other = (numbers(output, shape).nan_to_num(0.0) for output in (one, other))
    return fits(one, other)


def new_module(student: Student, reading: Normalising, row: Asked, device: str) -> StudentModule:
    """The module that a row asks for a gradient; other cases judge the default of eps."""
    _, _, gamma = row.tensors(student.seed)
    given: dict[str, Any] = {"hidden": len(gamma), "gamma": gamma, "gamma_dtype": gamma.dtype, "eps": row.eps}
    return build(student, row.group_size, device, **given, reading=reading)


def check_gradients(student: Student, reading: Normalising, row: Asked, device: str, training: bool) -> None:
    """Compare a module's gradients with those of the law in a reading; by the contract, to the accuracy of the dtype.

    By a reading, a token whose output is wrong sends no gradient: other properties charge for such outputs.
    """
    law, by_contract = partial(reading.law or CONTRACT, eps=row.eps), reading is BY_CONTRACT
    x, upstream, gamma = row.tensors(student.seed)
    zeros = row.zeros(x) & by_contract
    x = row.input(x.masked_fill(zeros, 0))  # which is contiguous in memory, whatever x is
    unit = coarser(x.dtype, gamma.dtype)
    rough = not by_contract or unit is not torch.float32

    def output(x: Tensor) -> Tensor:
        return numbers(new_module(student, reading, row, device).train(training)(x.to(device)), x.shape)

    def by_law(x: Tensor) -> Tensor:
        return law(x.double(), row.group_size) * gamma.double()

    if not by_contract:
        for near in (x, 2 * x):  # another law may meet this one at one size
            upstream = upstream * followed(output(near), by_law(near))
        if not bool(upstream.any()):
            return
    gradients_of_law = partial(law_gradients, law, x, upstream=upstream, group_size=row.group_size, eps=row.eps)
    wanted_of_input, input_size, wanted_of_gamma, gamma_size = gradients_of_law(gamma)

    def check_far_from_eps() -> None:
        far = x.masked_fill(zeros, 1) * FAR
        wanted, size, *_ = law_gradients(law, far, gamma, upstream=upstream, group_size=row.group_size, eps=row.eps)
        module = new_module(student, reading, row, device).train(training)
        found = gradient_of_input(module.gradients(far.to(device), upstream=upstream.to(device)).of_arguments, OF_FAR)
        check_gradient(found.reshape(x.shape), wanted, size, unit, INPUT_GRADIENT_LIMIT[unit], rough, OF_FAR)

    def check(arriving: Tensor, between: bool, alone: str = "") -> None:
        there, module = x.to(device), new_module(student, reading, row, device).train(training)
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
            finite = of_zeros or bool(of_input.isfinite().all())
            told = [OF_ZEROS] * of_zeros or [say(ZERO_GAMMA, n=len(gamma) - 2)] * (not finite)
            raise fault.with_more(*told, parts, cut, *far) from None

    def check_of_gamma(found: list[Tensor | None]) -> None:
        of_gamma = gradient_of(found, "gamma").flatten()
        what = say(OF_GAMMA, dtype=name(gamma.dtype), sizes=row.told)
        try:
            check_gradient(of_gamma, wanted_of_gamma, gamma_size, unit, PARAMETER_GRADIENT_LIMIT[unit], rough, what)
        except WrongAnswer as fault:
            raise fault.with_more(*told_of_gamma(of_gamma, x, upstream)) from None

    def is_remembered() -> bool:
        first, then = x.to(device), (2 * x).to(device)
        alone, later = (new_module(student, reading, row, device).train(training) for _ in range(2))
        return not are_alike(later.after(first)(then), alone(then), x.shape)

    between = row.between
    try:
        passed_back(check, upstream, row.upstream, between)
    except (WrongAnswer, Crashed) as fault:
        if not (between and is_remembered()):
            raise
        student.excuse(fault, ("norm_purity",))
        between = False
        passed_back(check, upstream, row.upstream, between)
    if row.alone:
        with stating(ALONE_TAKING[row.alone]):
            check(row.upstream(upstream), between, row.alone)


@pytest.mark.rubric("norm_backward")
@contract_first(gradients_by_contract, *FORWARD)
@gamma_dtypes
@dtypes
def test_gradients_flow_to_input_and_gamma(
    student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Compared with the gradient of the law that the outputs follow, right or wrong; if none is known, see below."""
    reading = require_division(student)
    if not reading.takes(dtype, gamma_dtype):
        return  # charged to the dtypes
    is_float32 = dtype is gamma_dtype is torch.float32
    if reading.changes_input:
        check_overwritten(student, reading, gamma_dtype, dtype, device)
    elif reading.law is not None and reading.gamma_right and (is_float32 or reading.law == CONTRACT):
        gradients_by(student, reading, gamma_dtype, dtype, device)
    elif is_float32:
        check_gradients_by_differences(student, device)
    elif reading.fills:  # another law may cancel digits that 16 bits do not have
        check_arrival(student, reading, gamma_dtype, dtype, device)
    if is_float32 and not reading.changes_input:
        check_zeros(student, reading, device)


def check_arrival(
    student: Student, reading: Normalising, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Require gradients, whatever they are, where they arrive in float32."""

    def arriving(row: Asked) -> tuple[Sequence[Tensor | None], Sequence[Tensor | None]]:
        x, upstream, _ = row.tensors(student.seed)
        module = new_module(student, reading, row, device)
        found = module.gradients(x.to(device), upstream=upstream.to(device))
        return found.of_arguments[:1], found.of_parameters

    rows = [answered(student, reading, *pair, device)[:1] for pair in ((torch.float32,) * 2, (gamma_dtype, dtype))]
    if not all(rows):
        return
    wide, narrow = (arriving(row) for (row,) in rows)
    for there, here, where in zip(wide, narrow, (say("the input"), "gamma"), strict=True):
        if there and all(one is not None for one in there):
            gradient_of(here, where)


def check_zeros(student: Student, reading: Normalising, device: str) -> None:
    """Require the gradient of the law for an input of zeros, if the outputs there and close by follow the law.

    If no law is known, tokens or groups are mixed, which are alike here; gamma is neutral.
    """
    law, sizes = partial(reading.law or CONTRACT, eps=EPS), stated(hidden_size=24, group_size=4, eps=f"{EPS:g}")
    module, near = build(student, 4, device, eps=EPS), 1e-6 * reading.signs.repeat(2, 3, 1)
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
    student: Student, reading: Normalising, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Require gradients to arrive from a call that changes its input, unless autograd refuses; purity charges.

    A call with 16 bits may compute with a copy in float32, and change that. Then its gradient must be right.
    """
    for row in asked(dtype, gamma_dtype):
        x, upstream, _ = row.tensors(student.seed)
        module = new_module(student, reading, row, device)
        with suppress(Crashed):
            gradient_of_input(module.gradients(x.to(device), upstream=upstream.to(device)).of_arguments)
            _, (after,) = module.observe(x.to(device))
            if torch.equal(after.cpu(), x) and reading.law is not None and reading.gamma_right:
                gradients_by(student, reading, gamma_dtype, dtype, device)


@kept
def law_gradients(
    law: Callable[[Tensor, int], Tensor], x: Tensor, gamma: Tensor, upstream: Tensor, group_size: int, eps: float
) -> tuple[Tensor, ...]:
    """A law's gradients in float64: of the input, with its scale, and of gamma, with its scale."""
    leaf, weight = x.double().requires_grad_(), gamma.double().requires_grad_()
    terms = law(leaf, group_size) * upstream.double()
    (terms * weight).sum().backward()
    assert leaf.grad is not None
    assert weight.grad is not None
    # The sum of the absolute terms of the contract's gradient, which cancel: u / r - x mean(u x) / r^3, in each group.
    groups = x.double().abs().unflatten(-1, (-1, group_size))
    arriving = (upstream.double() * gamma.double()).abs().unflatten(-1, (-1, group_size))
    root = (groups.square().mean(-1, keepdim=True) + eps).sqrt()
    through = (arriving / root + groups * (arriving * groups).mean(-1, keepdim=True) / root**3).flatten(-2)
    of_gamma = terms.detach().abs().flatten(0, -2).sum(0)
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


def check_gradients_by_differences(student: Student, device: str) -> None:
    """Compare with differences of the student's own outputs, on one token, which is met in every place."""
    sizes = 16 + 5 * torch.arange(24) % 24 / 1.5  # the largest of each group is the largest after a step, too
    x, upstream = (signs(student.seed, key, shape=(1, 1, 24)) for key in ("x", "upstream"))
    x, upstream = x * sizes, upstream * uniform(student.seed, "upstream", shape=(1, 1, 24), low=1.0, high=2.0)
    reading = normalising(student)
    gamma = uniform(student.seed, "gamma", shape=(24,), low=0.5, high=2.0) if reading.fills else None
    if gamma is not None and reading.gamma_right:
        gamma[-2] = 0
    module = build(student, 4, device, gamma=gamma)
    tokens, arriving = x.repeat(2, 2, 1).to(device), torch.zeros(2, 2, 24)
    arriving[0, 0] = upstream
    gradients = module.gradients(tokens, upstream=arriving.to(device))
    frozen = build(student, 4, device, gamma=gamma).gradients(tokens, upstream=arriving.to(device), alone="arguments")
    of_input, of_input_alone = (
        gradient_of_input(found.of_arguments).reshape(tokens.shape).sum((0, 1), keepdim=True).cpu().double()
        for found in (gradients, frozen)
    )
    what = say("the gradient of {where}", where=say("the input"))
    by_input = partial(output_for, student, gamma, device)
    if reading.exact:  # or steps of rounding are all that differences show
        constant = upstream.double() * by_input(x) / x.double()  # what arrives if the divisor counts as a constant
        with stating(say(THROUGH, share="0")) if fits(of_input, constant) else nullcontext():
            check_differences(of_input, by_input, x, upstream, what)
    with stating(ALONE_TAKING["arguments"]):
        check_law(of_input_alone, of_input, what)
    pieces = gradients.of_parameters
    if gamma is not None and reading.exact:
        of_gamma = gradient_of(pieces, "gamma") if any(g is not None for g in pieces) else torch.zeros(24)
        by_gamma = partial(output_for, student, device=device, x=x)
        check_differences(of_gamma, by_gamma, gamma, upstream, say("the gradient of {where}", where="gamma"))
    elif pieces:  # rounded, or of another size, which norm_gamma charges for
        require(bool(gradient_of(pieces[:1], "gamma").any()), say("no gradient reaches {where}", where="gamma"))
    if pieces and all(piece is not None for piece in pieces):

        def arrives(alone: bool, training: bool) -> None:
            module = build(student, 4, device, gamma=gamma).train(training)
            found = module.gradients(tokens, upstream=arriving.to(device), alone="parameters" * alone)
            gradient_of(found.of_parameters, "gamma")

        evaluated = module.train(False)(tokens)
        alike = are_alike(module.train(True)(tokens), evaluated, tokens.shape)
        check = partial(in_mode, training=reading.training and not alike)
        only_if(True, lambda alone: check(partial(arrives, alone)), ALONE_TAKING["parameters"])


def output_for(student: Student, gamma: Tensor | None, device: str, x: Tensor) -> Tensor:
    """``[1, 1, h]``: what a new module gives for such a token in the first of several places."""
    tokens = x.repeat(2, 2, 1)
    return numbers(build(student, 4, device, gamma=gamma)(tokens.to(device)), tokens.shape)[:1, :1]
