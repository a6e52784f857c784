"""Task 4, apply_rotary_pos_emb.

``rotary_pairing_and_sign`` charges for how one vector is turned; other properties compare with how the student's own
function turns one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.axes import across
from grader.assignment.hidden.conditions import (
    RIGHT_FOR,
    check_digits,
    check_untouched,
    in_mode,
    largest,
    modes_of,
    passed_back,
    right_alone,
    stating,
    succeeds,
    with_a_call_between,
)
from grader.assignment.hidden.ropes import BASE, DIM, KEPT, MS, OTHERS, SHORT, Ropes, growing
from grader.assignment.hidden.rotations import Asked, AskedOfModule, Shape, asked, asked_of_module, tables, turns
from grader.assignment.model.differences import DIFFERENCE_LIMIT, check_differences
from grader.assignment.model.outputs import numbers
from grader.assignment.model.parameters import OF_INPUT, gradient_of_input
from grader.assignment.model.rotation import (
    CONTRACT,
    EXACT,
    NAME,
    ONE,
    SAME,
    SMALL_ANGLE,
    Convention,
    Rotation,
    rotation,
    turning_scale,
)
from grader.assignment.model.rotation import turned as turned_by_passed
from grader.assignment.model.turn_words import (
    CUT_WITHIN,
    INPUT_ROUNDED,
    LEFT,
    OTHER_SINES,
    OVERWRITTEN,
    RIGHT_CONTIGUOUS,
    RIGHT_TOGETHER,
    TABLES_RESCALED,
    becomes,
    told_pairing,
    told_pairs,
    told_places,
    told_position,
    told_still,
    told_turn,
)
from grader.testing import (
    ALONE,
    FORWARD_LIMIT,
    INPUT_GRADIENT_LIMIT,
    Crashed,
    Message,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_close,
    check_dtype,
    check_equal,
    check_like,
    check_shape,
    coarser,
    contract_first,
    dtypes,
    elsewhere,
    error_in_ulp,
    kept,
    name,
    normal,
    quoted,
    require,
    say,
)

WRONG_FOR = "for {sizes} it is wrong, too"
PAIRED = (2, 4, 8, 128)  # head dimensions
SAME_LIMIT = SAME * 2.0**23  # in ulp of float32
OF_OUTPUT = "{dtype} output, {sizes}"
FLOAT32 = say("{dtype} output", dtype="float32")
EXACT_64 = say("{dtype} output for head_dim={head_dim}", dtype="float32", head_dim=64)
MODULE_RIGHT = say(
    "\nThe output of NTKAwareRoPE is right nevertheless: what it passes to this function cancels the mistake. "
    "Fix both places."
)
NEARLY = 0.05  # coarser than any rounding of numbers around 1


def turned(student: Student, x: Tensor, cos: Tensor, sin: Tensor, device: str) -> Tensor:
    """The function's output, reshaped like ``x``; ``rotary_broadcast`` charges for a wrong shape."""
    return numbers(student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device)), x.shape)


def turning(student: Student) -> Rotation:
    """How the function turns, if it does; one that remembers tables is then in a worker where it has seen none."""
    read = rotation(student)
    read.require_turning()
    if read.remembers:
        student.start_afresh()
    return read


def told_left(output: Tensor, expected: Tensor, x: Tensor) -> Message | None:
    """Says if an output is the input wherever it is wrong."""
    given = output.detach().cpu().double()
    off = (given - expected).abs() > SAME * turning_scale(x)
    return LEFT if torch.equal(given[off], x.double()[off]) else None


def told_module(student: Student, device: str) -> list[Message]:
    """Says if NTKAwareRoPE is right although it calls a function that is wrong for as many features, for messages."""

    def is_right(judged: Student, called: Callable[[StudentModule, Tensor], Tensor]) -> bool:
        ropes = Ropes(judged, device, by_contract=True)
        expected = ropes.by_contract(1, MS)
        return succeeds(
            lambda: require(ropes.same(called(ropes.new(), ropes.input(MS))[0, :, 0], expected), MODULE_RIGHT)
        )

    if succeeds(partial(check_pairs, student, DIM, device, ONE, ())):
        return []
    by_itself = is_right(student, lambda module, x: numbers(module(x), x.shape))
    of_tables = partial(turned_by_passed, device=device, convention=CONTRACT)
    return [MODULE_RIGHT] * (by_itself and not is_right(student.with_stand_in(NAME), of_tables))


def check_quarter(student: Student, dim: int, device: str, shape: tuple[int, int, int]) -> None:
    """Up to rounding, relative to the pair's length, since the function may compute with the angles."""
    x = normal(student.seed, "quarter", shape=(*shape, dim))
    cos, sin = torch.zeros(shape[1], dim), torch.ones(shape[1], dim)
    quarter, scale = (x, cos, sin), turning_scale(x)
    output, expected = turned(student, *quarter, device), oracle.rotate(*quarter)
    what = say("output for head_dim={head_dim}, rotated by a quarter turn", head_dim=dim)

    def check(output: Tensor) -> None:
        check_close(output, expected, scale, torch.float32, SAME_LIMIT, what)

    try:
        check(output)
    except WrongAnswer as fault:
        if shape != ONE:
            raise fault.with_more(told_left(output, expected, x)) from None

        def ends(cos: float, sin: float, dim: int) -> Tensor:
            """``[hd, hd]``: the output for each feature alone."""
            basis, ones = torch.eye(dim).reshape(dim, *ONE, dim), torch.ones(1, dim)
            return torch.stack([turned(student, unit, cos * ones, sin * ones, device).flatten() for unit in basis])

        if right_alone(student, lambda: check(turned(student, *quarter, device))):
            raise fault.with_more(ALONE) from None
        fault.is_final = not torch.equal(output, x.double())  # what turns one vector wrongly need not be shown several
        one_pair = [becomes(ends(0.0, 1.0, 2), one) for one in range(2) if dim == 2]
        told = [*one_pair, *told_pairing(ends(0.0, 1.0, 4)), *told_still(ends(1.0, 0.0, dim))]
        x, cos, sin = turns(student.seed, "x", 8, torch.float32, torch.float32, ONE)  # a quarter turn shows no cosine
        output = turned(student, x, cos, sin, device)
        overwritten = told_pairs(output, x, cos, sin) == OVERWRITTEN
        told = told_places(output, oracle.rotate(x, cos, sin)) or [OVERWRITTEN] * overwritten or told
        raise fault.with_more(*told, *told_module(student, device)) from None


@pytest.mark.rubric("rotary_pairing_and_sign")
@contract_first(partial(check_quarter, shape=ONE), "rotary_broadcast")
@pytest.mark.parametrize("dim", [2, 4, 8])
def test_a_quarter_turn_moves_each_pair(student: Student, dim: int, device: str) -> None:
    """Of one vector alone; if only several at once are turned, of these."""
    check_quarter(student, dim, device, rotation(student).shape)


def check_pairs(
    student: Student, dim: int, device: str, shape: tuple[int, int, int], others: Sequence[int] = PAIRED
) -> None:
    """A fault says for which of the other head dimensions the same is right."""
    x, cos, sin = turns(student.seed, "x", dim, torch.float32, torch.float32, shape)
    if dim > 2:  # the first pair by half a turn, at which some formulas divide by zero
        cos[:, :: dim // 2], sin[:, :: dim // 2] = -1.0, 0.0
    expected, what = oracle.rotate(x, cos, sin), say("output for head_dim={head_dim}", head_dim=dim)
    output = turned(student, x, cos, sin, device)
    try:
        check_close(output, expected, turning_scale(x), torch.float32, SAME_LIMIT, what)
    except WrongAnswer as fault:
        if shape == ONE and others and right_alone(student, partial(check_pairs, student, dim, device, shape, ())):
            raise fault.with_more(ALONE) from None
        fault.is_final = not torch.equal(output, x.double())
        if shape != ONE:
            raise fault.with_more(told_left(output, expected, x)) from None
        right = [n for n in others if n != dim and succeeds(partial(check_pairs, student, n, device, shape, ()))]
        alone = [say(RIGHT_FOR, sizes="head_dim=" + ", ".join(map(str, right)))] * bool(right)
        alone += told_module(student, device) if others else []
        raise fault.with_more(*told_places(output, expected), told_pairs(output, x, cos, sin), *alone) from None


@pytest.mark.rubric("rotary_pairing_and_sign")
@contract_first(partial(check_pairs, shape=ONE), "rotary_broadcast")
@pytest.mark.parametrize("dim", PAIRED)
def test_pairs_turn_by_their_angles(student: Student, dim: int, device: str) -> None:
    check_pairs(student, dim, device, rotation(student).shape)


def expected_turn(student: Student, read: Rotation, x: Tensor, cos: Tensor, sin: Tensor, device: str) -> Tensor:
    """The output by the convention that one vector follows; if none fits, from a call for each vector alone."""
    if read.convention is not None:
        return read.convention.rotate(x, cos, sin)
    alone = torch.empty(x.shape, dtype=torch.float64)
    for row, position, head in product(*map(range, x.shape[:3])):
        vector, at = x[row, position, head].reshape(*ONE, -1), slice(position, position + 1)
        alone[row, position, head] = turned(student, vector, cos[at], sin[at], device).flatten()
    return alone


def call(student: Student, x: Tensor, cos: Tensor, sin: Tensor, device: str) -> Tensor:
    """The function's output, as it is."""
    return student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))


def by_heads(seed: int, shape: tuple[int, ...]) -> Tensor:
    """``[b, s, nh, hd]`` as attention has it: head after head in memory."""
    return across(normal(seed, "x", shape, shape=shape))


def broadcast_by_contract(student: Student, shape: tuple[int, int, int, int], device: str) -> None:
    x, (cos, sin) = by_heads(student.seed, shape), tables(student.seed, shape[1], shape[3])
    output = call(student, x, cos, sin, device)
    check_close(output, oracle.rotate(x, cos, sin), turning_scale(x), torch.float32, SAME_LIMIT, FLOAT32)


@pytest.mark.rubric("rotary_broadcast")
@contract_first(broadcast_by_contract, *OTHERS)
@pytest.mark.parametrize(
    "shape",
    [(2, 3, 4, 8), (8, 8, 8, 8), (67, 2, 2, 8), (2, 2, 67, 8), (1, 1, 2, 8), (1, 67, 1, 8)],
    ids=lambda shape: "shape=" + "x".join(map(str, shape)),
)
def test_every_batch_row_and_head_turns_alike(student: Student, shape: tuple[int, int, int, int], device: str) -> None:
    """In some shapes dimensions are equal, so that a table broadcast along the wrong one raises no error."""
    read = turning(student)
    x, (cos, sin) = by_heads(student.seed, shape), tables(student.seed, shape[1], shape[3])
    try:
        output = call(student, x, cos, sin, device)
        check_shape(output, x.shape)
        expected = expected_turn(student, read, x, cos, sin, device)
        check_close(output, expected, turning_scale(x), torch.float32, SAME_LIMIT, FLOAT32)
    except (WrongAnswer, Crashed) as fault:
        if read.shape != ONE:
            left = told_left(output, expected, x) if fault.error_ulp is not None else None
            several = dict(zip(("b", "s", "nh"), read.shape, strict=True))
            raise fault.with_more(left, say(RIGHT_TOGETHER, **several)) from None
        if fault.error_ulp is None or read.convention is None:
            raise fault.with_more(*told_of_ones(student, shape, device)) from None
        told = told_left(output, expected, x) or told_position(output, read.convention, x, cos, sin)
        dense, judged = partial(call, student, x.contiguous(), cos, sin, device), (expected, turning_scale(x))
        right = succeeds(lambda: check_close(dense(), *judged, torch.float32, SAME_LIMIT, FLOAT32))
        raise fault.with_more(told, RIGHT_CONTIGUOUS if right else None) from None


def told_of_ones(student: Student, shape: tuple[int, ...], device: str) -> Iterator[Message]:
    """Of each dimension of one element, whether the output has the right shape if it has two, for messages."""
    for axis, size in zip(range(3), ("b", "s", "nh"), strict=True):
        if shape[axis] == 1:
            other = (*shape[:axis], 2, *shape[axis + 1 :])
            x, (cos, sin) = by_heads(student.seed, other), tables(student.seed, other[1], other[3])
            right = succeeds(lambda: check_shape(call(student, x, cos, sin, device), x.shape))  # noqa: B023
            yield say(RIGHT_FOR if right else WRONG_FOR, sizes=f"{size}=2")


def likeness_by_contract(student: Student, row: Asked, device: str) -> None:
    x, cos, sin = row.tensors(student.seed)
    output = call(student, x, cos, sin, device)
    check_like(output, x.to(device))
    what, expected = say(OF_OUTPUT, dtype=name(row.dtype), sizes=row.told), oracle.rotate(x, cos, sin)

    def check(output: Tensor) -> None:
        check_close(output, expected, turning_scale(x), row.dtype, FORWARD_LIMIT[row.dtype], what)

    try:
        check(output)
    except WrongAnswer as fault:
        dense = partial(call, student, x.contiguous(), cos.contiguous(), sin.contiguous(), device)
        right = row.is_laid_out and succeeds(lambda: check(dense()))
        told = RIGHT_CONTIGUOUS if right else largest(x, fault)
        raise fault.with_more(partial(told_changed, output, x, cos, sin), told) from None


def told_changed(output: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> Message | None:
    """Says if an output is that for a rounded input or for rescaled tables, for messages."""
    lengths = torch.hypot(cos.double(), sin.double())
    changed = {
        say(INPUT_ROUNDED, dtype=name(cos.dtype)): oracle.rotate(x.to(cos.dtype), cos, sin),
        TABLES_RESCALED: oracle.rotate(x, cos.double() / lengths, sin.double() / lengths),
    }
    for told, expected in changed.items():
        if bool((error_in_ulp(output, expected, turning_scale(x), x.dtype) <= FORWARD_LIMIT[x.dtype]).all()):
            return told
    return None


@pytest.mark.rubric("rotary_dtype")
@contract_first(likeness_by_contract, *OTHERS)
@asked
def test_output_is_like_the_input(student: Student, row: Asked, device: str) -> None:
    """Compared with the student's own float32 output for the same numbers; tables may be cast to the input's dtype."""
    read, dtype, table_dtype = turning(student), row.dtype, row.table_dtype
    x, cos, sin = row.alone(read.shape).tensors(student.seed)
    output = call(student, x, cos, sin, device)
    with stating(say("input {dtype}, tables {tables}", dtype=name(dtype), tables=name(table_dtype))):
        check_dtype(output, dtype)
    require(output.device.type == torch.device(device).type, elsewhere(say("the output"), output.device, device))
    wide, unit = turned(student, x.float(), cos.float(), sin.float(), device), dtype
    if read.convention is None:
        unit = coarser(dtype, table_dtype)  # other numbers may be made of the tables first
        third = 3 * turned(student, x.float() / 3, cos.float(), sin.float(), device)  # no number is rounded like it
        if torch.allclose(third, wide, atol=NEARLY * row.size):  # what is not linear tells nothing of rounding
            wide = third
    dtypes_told = {"dtype": name(dtype), "tables": name(table_dtype)}
    what = say("{dtype} output from {tables} tables, compared with float32", **dtypes_told)
    found = numbers(output, x.shape)
    try:
        check_close(found, wide, turning_scale(x), unit, FORWARD_LIMIT[unit], what)
    except WrongAnswer as fault:
        raise fault.with_more(partial(told_changed, found, x, cos, sin), largest(x, fault)) from None


def turns_exactly(seed: int, shape: tuple[int, int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors and tables in which every other pair has a small angle: then digits of its sine may be lost."""
    x, cos, sin = turns(seed, "exact", 64, torch.float32, torch.float32, shape)
    cos[:, ::2], sin[:, ::2] = 1.0, SMALL_ANGLE  # rounded to float32
    return x, cos, sin


def exact_by_contract(student: Student, device: str) -> None:
    x, cos, sin = turns_exactly(student.seed, ONE)
    output, expected = call(student, x, cos, sin, device), oracle.rotate(x, cos, sin)
    check_close(output, expected, turning_scale(x), torch.float32, EXACT * 2.0**23, EXACT_64)


@pytest.mark.rubric("rotary_dtype")
@contract_first(exact_by_contract, *OTHERS)
def test_float32_outputs_are_exact(student: Student, device: str) -> None:
    """Compared with the convention that one vector follows."""
    read = turning(student)
    x, cos, sin = turns_exactly(student.seed, read.shape)
    if (convention := read.convention) is None:
        return

    def check(x: tuple[Tensor], tables: tuple[Tensor, Tensor]) -> None:
        expected, limit = convention.rotate(*x, *tables), EXACT * 2.0**23
        check_close(turned(student, *x, *tables, device), expected, turning_scale(*x), torch.float32, limit, EXACT_64)

    check_digits(check, x=(x,), tables=(cos, sin))


@kept
def turned_back(convention: Convention, x: Tensor, cos: Tensor, sin: Tensor, upstream: Tensor) -> Tensor:
    """The gradient of the input of a rotation, float64."""
    leaf = x.double().requires_grad_()
    # Not backward(upstream), which imports sympy at its first use, in every judge: a second more until it is ready.
    (convention.rotate(leaf, cos, sin) * upstream.double()).sum().backward()
    assert leaf.grad is not None
    return leaf.grad


def backward_by_contract(student: Student, row: Asked, device: str) -> None:
    (x, cos, sin), upstream = row.tensors(student.seed), row.arriving(student.seed)
    expected, limit = turned_back(CONTRACT, x, cos, sin, upstream), INPUT_GRADIENT_LIMIT[row.dtype]
    what = say(OF_INPUT, dtype=name(row.dtype), sizes=row.told)

    def check(arriving: Tensor, between: bool) -> None:
        gradient = gradient_there(student, (x, cos, sin), arriving, device, between)
        try:
            check_close(gradient, expected, turning_scale(upstream), row.dtype, limit, what)
        except WrongAnswer as fault:
            raise fault.with_more(told_turn(gradient, CONTRACT, upstream, cos, sin)) from None

    passed_back(check, upstream, row.upstream, row.between)


def gradient_there(
    student: Student, given: tuple[Tensor, Tensor, Tensor], upstream: Tensor, device: str, between: bool
) -> Tensor:
    """The gradient of the input; perhaps keys are turned ``between`` forward and backward, by other angles."""
    there, (x, cos, sin) = (tensor.to(device) for tensor in given), given
    keys = [tensor.to(device) for tensor in (4 - x, sin, cos)] if between else []
    gradients = student.apply_rotary_pos_emb.gradients(*there, upstream=upstream.to(device), between=keys)
    return gradient_of_input(gradients.of_arguments).reshape(x.shape)


@pytest.mark.rubric("rotary_backward")
@contract_first(backward_by_contract, *OTHERS)
@asked
def test_gradients_turn_back(student: Student, row: Asked, device: str) -> None:
    """The gradient of a rotation turns back; that of anything else is compared with differences of outputs."""
    read, dtype, unit = turning(student), row.dtype, coarser(row.dtype, row.table_dtype)
    if (dtype, row.table_dtype) in read.refused:
        return  # rotary_dtype charges for it
    row = row.alone(read.shape)
    (x, cos, sin), upstream = row.tensors(student.seed), row.arriving(student.seed)
    what, scale = say(OF_INPUT, dtype=name(dtype), sizes=row.told), turning_scale(upstream)

    def check(between: bool) -> None:
        gradient = gradient_there(student, (x, cos, sin), upstream, device, between)
        if read.convention is not None:
            of_unit = (unit, INPUT_GRADIENT_LIMIT[unit]) if read.exact else (torch.float32, 2 * SAME_LIMIT)
            try:
                check_close(gradient, turned_back(read.convention, x, cos, sin, upstream), scale, *of_unit, what)
            except WrongAnswer as fault:
                raise fault.with_more(told_turn(gradient, read.convention, upstream, cos, sin)) from None
        elif (dtype, row.table_dtype) == (torch.float32, torch.float32):
            check_differences(gradient, lambda moved: turned(student, moved, cos, sin, device), x, upstream, what)

    try:
        with_a_call_between(check, row.between)
    except (WrongAnswer, Crashed) as fault:
        if right_alone(student, partial(check, row.between)):  # after no call with another head dimension
            student.excuse(fault, ("rotary_pairing_and_sign",))
        elif (
            read.convention is not None
            and not torch.allclose(
                turned(student, x, cos, sin, device), read.convention.rotate(x, cos, sin), rtol=NEARLY
            )
            and passes_back(student, row, read.shape, device)
        ):
            student.excuse(fault, ("rotary_dtype",))  # numbers so large or small, or 16 bits, turn otherwise, too
        else:
            raise


def longer(x: Tensor) -> Tensor:
    """Twice as many positions, and heads."""
    return x.repeat(1, 2, 2, 1)


def module_gradient(module: StudentModule, row: AskedOfModule, x: Tensor, upstream: Tensor, between: bool) -> Tensor:
    """The gradient of the input of a module; perhaps other keys are turned ``between`` forward and backward.

    Shorter ones, or longer ones than the tables, if these grow: the first call may need what it has used.
    """
    keys = [longer(x) if row.dynamic else x[:, 1:, 1:]] * between
    gradients = module.gradients(x, upstream=upstream, between=keys)
    return gradient_of_input(gradients.of_arguments, say("the input of NTKAwareRoPE, s = {s}", s=row.length))


def module_limit(row: Asked | AskedOfModule) -> tuple[torch.dtype, float]:
    """The unit of the errors of such a gradient, and how many are allowed."""
    unit = coarser(row.dtype, row.table_dtype)
    return unit, DIFFERENCE_LIMIT * 2.0**23 if unit is torch.float32 else INPUT_GRADIENT_LIMIT[unit]


def module_backward_by_contract(student: Student, row: AskedOfModule, device: str) -> None:
    ropes = Ropes(student, device, by_contract=True)
    x, upstream = (
        normal(student.seed, key, shape=(1, row.length, 2, DIM)).to(row.dtype) for key in ("moved", "upstream")
    )
    ratio = oracle.smallest_even_ratio(row.length, MS) if row.grows else row.ratio
    angles = oracle.ntk_angles(DIM, BASE, ratio, row.length)
    expected = turned_back(CONTRACT, x, angles.cos().repeat(1, 2), angles.sin().repeat(1, 2), upstream)

    def check(training: bool, arriving: Tensor, between: bool) -> None:
        with growing(student, dynamic=row.dynamic):
            module = ropes.new(row.ratio, dynamic=row.dynamic, dtype=row.table_dtype, training=training)
            gradient = module_gradient(module, row, x.to(device), arriving.to(device), between)
        check_close(gradient, expected, turning_scale(upstream), *module_limit(row), row.told)

    in_mode(lambda training: passed_back(partial(check, training), upstream, row.upstream, row.between), row.training)


def check_linear(row: Asked | AskedOfModule, x: Tensor, output: Tensor, upstream: Tensor, gradient: Tensor) -> None:
    """Require input times gradient to be output times upstream, for each vector: what turns by tables is linear."""
    scale = (x.double().norm(dim=-1) * upstream.double().norm(dim=-1)).cpu()
    by_gradient = (gradient.reshape(x.shape).cpu().double() * x.cpu().double()).sum(-1)
    by_output = (output * upstream.cpu().double()).sum(-1)
    check_close(by_gradient, by_output, scale, *module_limit(row), row.told)


def passes_back(student: Student, row: Asked | AskedOfModule, shape: Shape, device: str) -> bool:
    """Whether the function itself has the gradients of what it computes, in these dtypes, and leaves tables alone."""
    given = turns(student.seed, "x", DIM, row.dtype, row.table_dtype, shape)
    upstream = normal(student.seed, "upstream", shape=tuple(given[0].shape)).to(row.dtype)

    def check() -> None:
        gradient = gradient_there(student, given, upstream, device, row.between)
        output, after = student.apply_rotary_pos_emb.observe(*(tensor.to(device) for tensor in given))
        check_unchanged(given, after)
        check_linear(row, given[0], numbers(output, given[0].shape), upstream, gradient)

    return succeeds(check)


@pytest.mark.rubric("rotary_backward")
@contract_first(module_backward_by_contract, *KEPT, "rope_buffers")
@asked_of_module
def test_gradients_flow_through_the_module(student: Student, row: AskedOfModule, device: str) -> None:
    """As asked, and within small tables of float32, which mistakes in dtypes, sizes and growth leave alone."""
    recorded = student.with_stand_in(NAME)
    for one in (row, row._replace(dtype=torch.float32, table_dtype=torch.float32, length=SHORT, ratio=1)):
        check = partial(check_passed_through, student, one, device)
        if not passes_back(student, one, (1, one.length, one.length), device):  # for which other cases charge
            check(recorded)
            continue
        try:
            check(student)
        except WrongAnswer as fault:
            if not succeeds(partial(check, recorded)):
                raise
            if fault.error_ulp is None:
                raise fault.with_more(CUT_WITHIN) from None
            student.excuse(fault, OTHERS)  # numbers that come of angles of the module alone, such as zero


def check_passed_through(student: Student, row: AskedOfModule, device: str, judged: Student) -> None:
    """``judged`` has the submission's own rotation, or one that gives its input back.

    There are as many heads as positions: code may take one for the other.
    """
    mode = Ropes(student, device).asking.mode
    shape = (1, row.length, row.length, DIM)
    upstream, moved = (normal(student.seed, key, shape=shape).to(row.dtype).to(device) for key in ("upstream", "moved"))

    def check(training: bool, between: bool) -> None:
        def build() -> StudentModule:
            sizes = {"dim": DIM, "max_seq_len": MS, "base": BASE, "ratio": row.ratio, "dynamic": row.dynamic}
            module = judged.NTKAwareRoPE(**sizes, dtype=row.table_dtype, device=device)
            return module.train(training if mode is None else mode)

        try:
            with growing(judged, dynamic=row.dynamic):
                output = numbers(build()(moved), moved.shape)
                if between and row.dynamic:
                    build().after(moved)(longer(moved))
        except StudentFault as fault:  # a module without an output
            student.excuse(fault, KEPT if row.table_dtype is torch.float32 else (*KEPT, "rope_buffers"))
            return
        check_linear(row, moved, output, upstream, module_gradient(build(), row, moved, upstream, between))

    in_mode(lambda training: with_a_call_between(partial(check, training), row.between), row.training)


def wide_enough(dtype: torch.dtype) -> torch.dtype:
    """The dtype of tables that a call must leave alone: the input's, or a wider one, of which it may make a copy."""
    return torch.float32 if dtype is torch.bfloat16 else dtype


def purity_by_contract(student: Student, dtype: torch.dtype, device: str) -> None:
    x, cos, sin = turns(student.seed, "x", 8, dtype, wide_enough(dtype), ONE)
    expected, what = oracle.rotate(x, cos, -sin), say("{dtype} output", dtype=name(dtype))
    for output in called_untouched(student, (x, cos, sin), device):
        check_close(output, expected, turning_scale(x), torch.float32, SAME_LIMIT, what)


def called_untouched(student: Student, given: tuple[Tensor, Tensor, Tensor], device: str) -> list[Tensor]:
    """Require input and tables to be the same after a call, with gradients and without; returns the outputs.

    Before each, the same cosines and other sines are given, in the same place where no gradients are recorded.
    """
    x, cos, sin = (tensor.to(device) for tensor in given)
    check, modes = partial(check_unchanged, (given[0], given[1], -given[2])), modes_of(x.dtype)
    return check_untouched(student.apply_rotary_pos_emb, x, cos, -sin, check=check, modes=modes, before=(x, cos, sin))


def check_unchanged(before: Sequence[Tensor], after: Sequence[Tensor]) -> None:
    """Require input and tables to be the same after a call."""
    for was, now, what in zip(before, after, (say("the input"), quoted("cos"), quoted("sin")), strict=True):
        require(now.shape == was.shape, say("{what} has a different shape after the call", what=what))
        check_equal(now, was, say("{what} after the call, compared with before", what=what))


@pytest.mark.rubric("rotary_purity")
@contract_first(purity_by_contract, *OTHERS)
@dtypes
def test_input_and_tables_stay_as_they_were(student: Student, dtype: torch.dtype, device: str) -> None:
    read = turning(student)
    x, cos, sin = turns(student.seed, "x", 8, dtype, wide_enough(dtype), read.shape)
    try:
        outputs = called_untouched(student, (x, cos, sin), device)
    except Crashed:
        if (dtype, wide_enough(dtype)) in read.refused:
            return  # rotary_dtype charges for it
        raise
    with student.aside():
        expected, again = (turned(student, x, cos, -sin, device) for _ in range(2))
    for output in outputs * (torch.equal(expected, again) and not read.remembers):  # nor random
        check_close(numbers(output, x.shape), expected, turning_scale(x), torch.float32, SAME_LIMIT, OTHER_SINES)
