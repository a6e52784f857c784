"""Task 4, NTKAwareRoPE: how tables are registered, their dtype, and what calls within them leave behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.conditions import (
    AFTER,
    IN_EVALUATION,
    check_beside,
    check_untouched,
    failing_in,
    modes_of,
    right_alone,
    succeeds,
    told_others,
)
from grader.assignment.hidden.construction import OTHER_DEFAULT
from grader.assignment.hidden.devices import check_on
from grader.assignment.hidden.rope_tables import (
    CONVERTED,
    FEW_NUMBERS,
    MORE_DIGITS,
    MORE_DIGITS_GROWN,
    SIZES,
    TABLE_UNIT,
    check_outputs,
    check_tables,
    require_positions,
    told,
)
from grader.assignment.hidden.ropes import (
    BASE,
    DIM,
    GROWTH,
    KEPT,
    LONG,
    MIDDLE,
    MS,
    SAME_LIMIT,
    SHORT,
    TURNED,
    Ropes,
    contract_first,
    growing,
    kinds,
)
from grader.assignment.model.histories import OTHERWISE, Step, check_history, is_random
from grader.assignment.model.outputs import numbers
from grader.assignment.model.rotation import EXACT
from grader.testing import (
    ALONE,
    DTYPES,
    Crashed,
    InvalidReply,
    Message,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_close,
    check_equal,
    dtypes,
    name,
    normal,
    require,
    say,
)

OF_POSITION_ONE = (math.cos(1), math.sin(1))  # in the first pair, which every ratio turns alike
AS_INPUT = say("grown tables have the dtype of that call's input, in place of the dtype that the constructor was given")
ONE_OF_TWO = say("the registered buffers hold only one of the two tables, cosines and sines")
OF_NEW = say("of a new module, after another one has grown")
ROWS_OF_CALL = "after growth in a call with s = {s}, a table has s rows, not es"


def check_registration(module: StudentModule, positions: int) -> list[Tensor]:
    """Require the tables to be buffers outside ``state_dict``, with room for that many positions; gives them."""
    names = module.state_dict()
    require(not names, say("state_dict() lists {names}", names=", ".join(names)))
    return check_room(module, positions)


def check_room(module: StudentModule, positions: int) -> list[Tensor]:
    """Require the buffers to have room for that many positions; gives them."""
    buffers = [buffer.value for buffer in module.buffers()]
    held = sum(buffer.numel() * (2 if buffer.is_complex() else 1) for buffer in buffers)
    require(held >= positions * DIM, say(FEW_NUMBERS, n=held, length=positions))
    require(len({is_held(buffers, number) for number in OF_POSITION_ONE}) == 1, ONE_OF_TWO)
    return buffers


def is_held(buffers: Sequence[Tensor], number: float) -> bool:
    """Whether a buffer holds a number, with either sign, up to rounding."""
    parts = [torch.view_as_real(one) if one.is_complex() else one for one in buffers]
    return any(bool(((part.cpu().double().abs() - number).abs() < TABLE_UNIT * 32).any()) for part in parts)


@pytest.mark.rubric("rope_buffers")
@contract_first(*TURNED)
def test_tables_are_non_persistent_buffers(ropes: Ropes) -> None:
    """Of a new module; other cases ask for those of ratio 1 after a call that grows."""
    module = ropes.new(3)
    require(not module.parameters(), say("a parameter is registered; this module has none"))
    check_on(check_registration(module, MS), ropes.device, say("a buffer"))


@pytest.mark.rubric("rope_buffers")
@contract_first(*TURNED)
def test_tables_are_on_the_cpu_where_no_device_is_given(ropes: Ropes) -> None:
    buffers = check_room(ropes.student.NTKAwareRoPE(dim=DIM, max_seq_len=MS), MS)
    check_on(buffers, "cpu", say("a buffer"))
    for buffer in buffers:
        wide = buffer.dtype in (torch.float32, torch.complex64)
        require(wide or not buffer.is_floating_point(), say(OTHER_DEFAULT, argument="dtype"))


@pytest.mark.rubric("rope_buffers")
@contract_first(*TURNED)
@dtypes
def test_the_input_stays_as_it_was(ropes: Ropes, dtype: torch.dtype) -> None:
    x = normal(ropes.seed, "x", shape=(2, 5, 5, DIM)).to(dtype)

    def unchanged(after: list[Tensor]) -> None:
        check_equal(after[0], x, AFTER.filled(what=say("the input")))

    try:
        check_untouched(ropes.new(), x.to(ropes.device), check=unchanged, modes=modes_of(dtype))
    except InvalidReply as fault:  # no tensor
        ropes.excuse(fault, ("rope_base",))
        return
    except Crashed as crash:
        if dtype is torch.float32 or ropes.is_by_contract:
            raise
        ropes.excuse(crash, ("rope_boundary",))


@pytest.mark.rubric("rope_buffers")
@contract_first(*TURNED)
@kinds
def test_earlier_calls_leave_no_trace(ropes: Ropes, dynamic: bool) -> None:
    """Calls with other values, dtypes and modes, none with growth: other properties judge what growth leaves.

    With the submission's own rotation, right or wrong, since it may change the module's tables.
    """
    if ropes.is_by_contract:
        turned = ropes.turn(ropes.new(dynamic=dynamic, training=not dynamic), SHORT)
        require_positions(ropes, turned)  # tables that are not used show no trace
        check_outputs(ropes, turned, ropes.by_contract(1, SHORT), told(SHORT, 1, dynamic=dynamic))
    elif (mode := ropes.asking.mode) is not None:
        wanted, turned = (one.turn(one.new(), SHORT) for one in map(ropes.in_mode, (True, False)))
        right = wanted if mode else turned
        try:
            check_close(turned, wanted, ropes.vector.double().norm(), torch.float32, SAME_LIMIT, IN_EVALUATION)
        except WrongAnswer as fault:

            def check(training: bool) -> None:
                one = ropes.in_mode(training)
                require(ropes.same(one.turn(one.new(), SHORT), right), IN_EVALUATION)

            known = ropes.same(right, ropes.by_contract(1, SHORT))
            raise fault.with_more(failing_in(not mode, check) if known else None) from None
    calls = [
        Step(input=normal(ropes.seed, "call", k, shape=(2, 4 - k % 2, 4 + k % 2, DIM)).to(ropes.device))
        for k in range(3)
    ]
    narrow_dtype = torch.float16 if dynamic else torch.bfloat16  # a submission may refuse one of them
    narrow_input = normal(ropes.seed, "narrow", shape=(2, 4, 5, DIM)).to(narrow_dtype).to(ropes.device)
    narrow = Step(input=narrow_input)

    def excuse(fault: StudentFault) -> None:
        ropes.excuse(fault, RANDOM if is_random(fault) else (*TURNED, "rope_buffers"))

    if ropes.is_recorded:  # a rotation that turns nothing, or crashes, shows no trace
        module, again = ropes.new(dynamic=dynamic), Step(input=ropes.input(SHORT))
        wanted = ropes.turn(module, SHORT)
        try:
            ropes.called(module, narrow_input)
        except StudentFault as fault:
            excuse(fault)
        what = say(OTHERWISE, what=again.told, before=narrow.told)
        check_close(
            ropes.turn(module, SHORT), wanted, ropes.vector.double().norm(), torch.float32, EXACT * 2.0**23, what
        )
    evaluating, training = Step(mode=False), Step(mode=True)
    if dynamic:  # what only evaluation remembers shows in its second call; what a return to training does, after it
        steps = [evaluating, calls[0], calls[2], narrow, training, calls[1]]
    else:
        steps = [calls[0], calls[2], narrow, evaluating, calls[1]]
    check_history(lambda _: ropes.own().new(dynamic=dynamic), steps, (), excuse)


OTHERS_BUILT: tuple[dict[str, int], ...] = (  # whatever they share with the module that is judged
    {"dim": DIM, "max_seq_len": MS, "base": 16, "ratio": 1},  # grows to the same ratio
    {"dim": DIM, "max_seq_len": 2 * MS, "base": BASE, "ratio": 4},  # as many positions as that has once it has grown
    {"dim": 2 * DIM, "max_seq_len": 2 * MS, "base": 16, "ratio": 3, "dynamic": False},  # the last may be remembered
)
RANDOM = ("rotary_pairing_and_sign", "rotary_broadcast", "rope_boundary", "rope_buffers")  # charge for random outputs


def build_in_16_bits(ropes: Ropes, **sizes: int) -> None:
    """Builds a module beside others; the case of the tables' dtypes charges for a crash."""
    with suppress(Crashed):
        ropes.made(**sizes, dtype=torch.bfloat16, device=ropes.device)


def check_beside_a_shorter_one(ropes: Ropes) -> None:
    """Require first tables of a module's own where others were built that differ in dtype, length, or ratio and length.

    No other case has this base: a cache may hold tables of those. What is wrong without the other module is charged to
    other properties.
    """
    sizes = {"dim": 4, "base": 600}

    def check(beside: bool) -> None:
        if beside:
            build_in_16_bits(ropes, max_seq_len=MS, ratio=1, **sizes)
        for ratio in (1, 2) if beside else ():  # of that ratio, or with as many positions
            ropes.made(max_seq_len=MS // 2, ratio=ratio, **sizes, device=ropes.device)
        module = ropes.made(max_seq_len=MS, ratio=1, **sizes, device=ropes.device)
        angles = oracle.ntk_angles(4, 600, 1, MS)
        check_tables(ropes, module, angles, say(SIZES, max_seq_len=MS, ratio=1, s=MS, **sizes))

    try:
        check(True)
    except (WrongAnswer, Crashed) as fault:
        if right_alone(ropes.student, partial(check, False)):
            raise fault.with_more(ALONE) from None


@pytest.mark.rubric("rope_buffers")
@contract_first(*KEPT)
@kinds
def test_growth_registers_nothing_else(ropes: Ropes, dynamic: bool) -> None:
    """Tables that are kept must be buffers; other properties judge whether they should be kept."""
    if ropes.is_by_contract:
        if not dynamic:
            check_beside_a_shorter_one(ropes)

        # With the es of the last of the others, a static module would not grow here.
        length = LONG if dynamic else MIDDLE

        def check(beside: bool, others: Sequence[Mapping[str, int]] = OTHERS_BUILT) -> None:
            module = ropes.new(dynamic=dynamic)
            options = {"dynamic": dynamic, "device": ropes.device}
            built = [ropes.student.NTKAwareRoPE(**{**options, **sizes}) for sizes in others if beside]
            with growing(ropes.student, dynamic=dynamic):
                if built and not dynamic and others[0]["dim"] == DIM:  # growth of one of them shows what growth shares
                    ropes.turn(built[0], length)
                expected = ropes.by_contract(oracle.smallest_even_ratio(length, MS), length)
                check_outputs(ropes, ropes.turn(module, length), expected, told(length, 1, dynamic=dynamic))
            if dynamic and beside:
                check_outputs(
                    ropes,
                    ropes.turn(ropes.new(dynamic=True), SHORT),
                    ropes.by_contract(1, SHORT),
                    told(SHORT, 1, dynamic=True),
                )
            for buffer in check_registration(module, LONG if dynamic else MS):
                cut = dynamic and buffer.numel() % LONG == 0 and buffer.numel() % (8 * MS) > 0
                require(not cut, say(ROWS_OF_CALL, s=LONG))

        try:
            check_beside(ropes.student, check)
        except WrongAnswer as fault:
            raise fault.with_more(*told_others(ropes.student, partial(check, True), OTHERS_BUILT)) from None
        return
    module = ropes.new(dynamic=dynamic)
    try:
        first = ropes.turn(ropes.new(dynamic=dynamic), SHORT)
        with growing(ropes.student, dynamic=dynamic):
            long = ropes.turn(module, LONG)
        short, later = (ropes.turn(one, SHORT) for one in (module, ropes.new(dynamic=dynamic)))
    except StudentFault as fault:
        ropes.excuse(fault, GROWTH)
        return
    check_outputs(ropes, later, first, told(SHORT, 1, dynamic=dynamic).then(OF_NEW))
    kept = not ropes.same(first, long) and ropes.same(short, long)
    ratios = ropes.ratios_of(long) if succeeds(lambda: ropes.ratios_of(long)) else []
    rows = min([len(long), *(int(ratio * MS) for ratio in ratios)])  # fewer, by a ratio that is too small
    check_registration(module, rows if kept else MS)


def told_converted(ropes: Ropes, dtype: torch.dtype, dynamic: bool) -> list[Message]:
    """Whether tables of a dtype become float32 by a float32 call within them, or take the dtype of a call that grows.

    For messages; what a call that grows computes, a dynamic module shows afterwards.
    """
    module = ropes.new(dynamic=dynamic, dtype=dtype)
    with suppress(StudentFault):
        before, _, after = module.buffers(), ropes.turn(module, SHORT), module.buffers()
        was, now = ({buffer.value.dtype for buffer in some} for some in (before, after))
        if was == {dtype} and now == {torch.float32}:
            return [say(CONVERTED, s=SHORT, dtype=name(dtype))]
        wide = ropes.new(dynamic=True)
        numbers(wide(ropes.input(LONG).to(dtype)), (1, LONG, 1, DIM))
        return [AS_INPUT] * ({buffer.value.dtype for buffer in wide.buffers()} == {dtype})
    return []


@pytest.mark.rubric("rope_buffers")
@contract_first(*KEPT)
@pytest.mark.parametrize(
    ("dynamic", "length"),
    [(False, SHORT), (True, MIDDLE)],  # tables that serve one call may have more digits than kept ones
    ids=["built", "grown"],
)
def test_tables_have_the_dtype_that_was_asked_for(ropes: Ropes, dynamic: bool, length: int) -> None:
    """A rotated (1, 0) in float32 shows the tables' own numbers: as built, and after growth."""
    probe = ropes.convention.probe(DIM)
    if not ropes.is_by_contract:
        try:
            with growing(ropes.student, dynamic=dynamic):
                ropes.turn(ropes.new(dynamic=dynamic), length)
        except StudentFault as fault:  # float32 tables do not, either
            ropes.excuse(fault, ("rope_base", *GROWTH))
            return
    for dtype in DTYPES[1:]:

        def check(_: bool, dtype: torch.dtype = dtype) -> None:
            module = ropes.new(dynamic=dynamic, dtype=dtype)
            with growing(ropes.student, dynamic=dynamic):
                shown = ropes.called(module, ropes.input(length, probe))
            rounded = torch.equal(shown, shown.to(dtype).double())
            more_digits = say(MORE_DIGITS if length == SHORT else MORE_DIGITS_GROWN, dtype=name(dtype), s=length)
            if not rounded:
                raise WrongAnswer(more_digits.then(*told_converted(ropes, dtype, dynamic)))
            if ropes.is_by_contract:
                require_positions(ropes, shown[0, :, 0])

        check_beside(ropes.student, check)
