"""Task 4, NTKAwareRoPE, judged by itself: other properties charge for ``apply_rotary_pos_emb``.

``rope_base`` and ``rope_exact_angles`` charge for wrong angles of new modules. The other properties compare with new
modules, to find the ratio that a call uses and what it leaves behind. Only ``rope_boundary`` has sequences exactly as
long as the tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.conditions import (
    AFTER,
    IN_EVALUATION,
    RIGHT_FOR,
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
    OF_BASE,
    OF_RATIO,
    SIZES,
    SPEED,
    TABLE_UNIT,
    check_outputs,
    check_tables,
    require_rows,
    tables_shown,
    told,
    told_ratio,
    told_rounding,
)
from grader.assignment.hidden.ropes import (
    BASE,
    DIM,
    GREW,
    GROWTH,
    KEPT,
    LONG,
    MIDDLE,
    MS,
    RATIOS_READ,
    SAME_LIMIT,
    SHORT,
    TURNED,
    Ropes,
    contract_first,
    growing,
    kinds,
)
from grader.assignment.model.histories import OTHERWISE, Step, check_history, is_random
from grader.assignment.model.normalising import numbers
from grader.assignment.model.rotation import EXACT
from grader.assignment.model.turn_words import INPUT_ROUNDED
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
    check_dtype,
    check_equal,
    check_shape,
    dtypes,
    name,
    normal,
    require,
    say,
    stated,
)

SIZES_DTYPE = (
    "dim={dim}, max_seq_len={max_seq_len}, base={base}, ratio={ratio}, dynamic={dynamic}, dtype={dtype}, s = {s}"
)
HELD_BY_ALL = 200  # positions that are bfloat16 numbers, as all up to 256 are
ROW_RIGHT = say("in a batch of one it is right")
HEAD_DIFFERS = "{dtype} output for shape {shape}: a head is rotated differently beside others than on its own"
ROUGH = 2.0**-4  # more than a rounding to 16 bits
FEW_DIGITS = 2.0**16  # in the units of tables: more than the error of frequencies by a logarithm of the base in float16
OF_POSITION_ONE = (math.cos(1), math.sin(1))  # in the first pair, which every ratio turns alike
AS_INPUT = say("grown tables have the dtype of that call's input, in place of the dtype that the constructor was given")
ONE_OF_TWO = say("the registered buffers hold only one of the two tables, cosines and sines")
ROWS_OF_CALL = "after growth by a call with s = {s}, a table has a row for each of its positions only, not es rows"
ALIKE = say("all positions are rotated alike, so this property cannot be checked")


@pytest.mark.rubric("rope_base")
@contract_first(*TURNED, "rope_exact_angles")
@pytest.mark.parametrize("ratio", [1, 2, 4], ids=["ratio_one", "ratio_two", "ratio_four"])
def test_the_ratio_stretches_the_base(ropes: Ropes, ratio: int) -> None:
    """The tables of new modules; other properties judge whether their last rows serve, and how exact angles are."""

    def check(
        dim: int,
        base: int,
        _: bool,
        ratio: int = ratio,
        *,
        k: int | None = None,
        of_base: int | None = None,
        passed_over: float = FEW_DIGITS,
    ) -> None:
        sizes = {"dim": dim, "max_seq_len": 32, "base": base, "ratio": ratio}
        angles = oracle.ntk_angles(dim, of_base or base, k or ratio, 32 * ratio if ropes.asking.in_full else 30)
        module = ropes.made(**sizes, dynamic=False, device=ropes.device)
        try:
            check_tables(ropes, module, angles, say(SIZES, s=len(angles), **sizes))
        except WrongAnswer as fault:
            if ropes.is_by_contract or (fault.error_ulp or passed_over) >= passed_over:
                raise
            ropes.excuse(fault, ("rope_exact_angles",))  # also where something else is wrong

    # Base 7 shows if it is rounded, whatever digits are passed over; four pairs show more of a pattern than two.
    ways = ((8, BASE), (8, 7), (4, 500000), (64, BASE))[: 3 if ratio == 1 else 4]
    for dim, base in ways:
        try:
            check_beside(ropes.student, partial(check, dim, base))  # beside those of earlier turns and cases
        except WrongAnswer as fault:
            exact = partial(check, passed_over=0.0)
            right = [stated(dim=dim, base=base) for dim, base in ways if succeeds(partial(exact, dim, base, True))]
            other = {2: 4, 4: 2}.get(ratio, 1)
            right += [stated(ratio=other)] * (other > 1 and succeeds(partial(exact, dim, base, True, other)))
            told = told_argument(partial(check, dim, base, True), base)
            raise fault.with_more(*told, *(say(RIGHT_FOR, sizes=sizes) for sizes in right)) from None


def told_argument(check: Callable[..., None], base: int) -> list[Message]:
    """Says if wrong tables are those of another ratio or of the default base; ``check`` looks for these, too."""
    if base != BASE and succeeds(partial(check, of_base=BASE)):
        return [say(OF_BASE, base=BASE)]
    return [say(OF_RATIO, k=k) for k in (1, 2, 4) if succeeds(partial(check, k=k))][:1]


@pytest.mark.rubric("rope_exact_angles")
@contract_first(*KEPT, "rope_buffers")
@dtypes
def test_far_positions_are_exact(ropes: Ropes, dtype: torch.dtype) -> None:
    """Not every position beyond 256 is a bfloat16 number, nor every one beyond 2048 a float16 number.

    With the base of 3000, the frequency below 1 has more digits than are ever written down; there, tables grow as well.

    A wrong base makes far angles wrong, too: what it costs is the sum of both properties.
    """
    dynamic = dtype is torch.bfloat16  # a module that grows may compute the tables that it keeps by other steps
    for longest, base, length in ((2100, 3000, 4112), (600, 16, 599)):
        sizes = {"dim": 4, "max_seq_len": longest, "base": base, "ratio": 2, "dynamic": dynamic}
        module = ropes.made(**sizes, dtype=dtype, device=ropes.device)
        if ropes.asking.in_full:
            length = 2 * longest
        elif not ropes.is_by_contract:  # tables that end too early, another property's charge, have these rows
            length = min(length, longest)
        told_sizes: dict[str, int | str] = {**sizes, "dynamic": str(dynamic), "dtype": name(dtype)}

        def check(
            k: float = 2,
            of_base: int = base,
            length: int = length,
            read: Tensor | None = None,
            appended: float | None = None,  # the ratio of rows beyond the initial ones, if it is another
        ) -> None:
            what = say(SIZES_DTYPE, s=length, **told_sizes)  # noqa: B023 - called here
            angles = oracle.ntk_angles(4, of_base, k, length)
            if appended is not None:
                angles[2 * longest :] = oracle.ntk_angles(4, of_base, appended, length)[2 * longest :]  # noqa: B023
            check_tables(ropes, module, angles, what, dtype, read=read)  # noqa: B023 - called here

        try:
            check()
        except WrongAnswer as fault:
            angles = oracle.ntk_angles(4, base, 2, length)
            told = told_argument(check, base)
            shown = tables_shown(ropes, module, length, 4)
            raise fault.with_more(*told, partial(told_rounding, shown, angles, dtype)) from None
        except Crashed as crash:
            if dtype is torch.float32 or ropes.is_by_contract:
                raise
            ropes.excuse(crash, ("rope_buffers",))
        if base == 3000 and dtype is not torch.float16:  # bfloat16 shows what 16 bits round
            check_grown(ropes, module, check, base, longest, dtype)


def check_grown(
    ropes: Ropes, module: StudentModule, check: Callable[..., None], base: int, longest: int, dtype: torch.dtype
) -> None:
    """Require far positions of grown tables to be exact; other properties judge by which ratio tables grow, and if."""
    length = 2 * longest + 100
    try:
        with growing(ropes.student, dynamic=dtype is torch.bfloat16):
            read = tables_shown(ropes, module, length, 4)
    except StudentFault as fault:
        if ropes.is_by_contract:
            raise
        ropes.excuse(fault, (*GREW, *GROWTH, "rope_buffers"))
        return
    if (ratio := ratio_shown(read, base, longest)) is not None:
        grown = partial(check, ratio, length=length, read=read)
        try:
            grown()
        except WrongAnswer as fault:
            if not ropes.is_by_contract and any(succeeds(partial(grown, appended=k)) for k in RATIOS_READ):
                return
            angles = oracle.ntk_angles(4, base, ratio, length)
            shown = tables_shown(ropes, module, length, 4)
            raise fault.with_more(partial(told_rounding, shown, angles, dtype)) from None


def ratio_shown(read: Tensor, base: int, longest: int) -> float | None:
    """The ratio whose angles the first positions of ``read: [s, 4]`` have; None if these are no ratio's.

    These are positions that every dtype holds, so that rounding changes their angles by little.
    """
    cosines, sines = read[:HELD_BY_ALL].chunk(2, dim=-1)
    off = {}
    for ratio in (*RATIOS_READ, len(read) / longest):
        angles = oracle.ntk_angles(4, base, ratio, len(cosines))
        off[ratio] = float(((cosines - angles.cos()).abs() + (sines - angles.sin()).abs()).max())
    nearest = min(off, key=off.__getitem__)
    return nearest if off[nearest] < SPEED else None


def check_default(ropes: Ropes, *arguments: str) -> None:
    """Require a module without the arguments to do the same as one with them; other cases judge whether that is right.

    Only what a call leaves behind that grows shows whether a module is dynamic.
    """
    options = {"base": BASE, "ratio": 1, "dynamic": False, "device": ropes.device}
    shown = []
    for given in (options, {key: known for key, known in options.items() if key not in arguments}):
        module = ropes.made(dim=DIM, max_seq_len=MS, **given)
        if "dynamic" in arguments:
            try:
                with growing(ropes.student, dynamic=False):
                    ropes.turn(module, MIDDLE)
            except StudentFault as fault:
                if ropes.is_by_contract:
                    raise
                ropes.excuse(fault, GROWTH)
                return
        shown.append(ropes.turn(module, SHORT))
    as_stated, by_default = shown
    same = torch.equal(by_default, as_stated)
    if not same and ropes.same(by_default, as_stated):  # to the last bit only if two equal modules give the same bits
        again = ropes.made(dim=DIM, max_seq_len=MS, **options)
        same = not torch.equal(ropes.turn(again, SHORT), as_stated)
    require(same, say(OTHER_DEFAULT, argument=", ".join(arguments)))
    require(not ropes.same(as_stated[:1], as_stated[1:2]), ALIKE)


@pytest.mark.rubric("rope_base")
@contract_first(*KEPT)
def test_arguments_have_the_defaults_of_the_stub(ropes: Ropes) -> None:
    """All at once by the contract; where that shows a difference, one by one."""
    arguments = ("base", "ratio", "dynamic")
    if ropes.is_by_contract:
        check_default(ropes, *arguments)
        return
    for argument in arguments:
        check_default(ropes, argument)


@pytest.mark.rubric("rope_boundary")
@contract_first(*TURNED)
@pytest.mark.parametrize(
    ("ratio", "dynamic", "lengths"),
    [
        (1, False, (1, MS)),
        (2, False, (MS, 2 * MS - 1, 2 * MS)),
        (5, False, (2 * MS, 5 * MS - 1, 5 * MS)),
        (1, True, (MS - 1, MS)),
        (3, True, (2 * MS, 3 * MS - 1, 3 * MS)),
    ],
    ids=["1-static", "2-static", "5-static", "1-dynamic", "3-dynamic"],
)
def test_the_cached_tables_serve_up_to_es_positions(
    ropes: Ropes, ratio: int, dynamic: bool, lengths: tuple[int, ...]
) -> None:
    wanted = ropes.of_ratio(ratio, ratio * MS)
    require(not ropes.same(wanted[:1], wanted[1:2]), ALIKE)
    for length in lengths:
        turned = ropes.turn(ropes.new(ratio, dynamic=dynamic), length)
        require_rows(turned, length, ratio)
        check_outputs(ropes, turned, wanted, told(length, ratio, dynamic=dynamic))


@pytest.mark.rubric("rope_boundary")
@contract_first(*TURNED)
def test_an_odd_initial_ratio_stays_odd(ropes: Ropes) -> None:
    """Only recomputed ratios are even. Not judged if the tables are the same for all ratios."""
    if ropes.is_by_contract:
        check_outputs(ropes, ropes.turn(ropes.new(3), SHORT), ropes.by_contract(3, SHORT), told(SHORT, 3))
        return
    two, three, four = (ropes.of_new(ratio, SHORT) for ratio in (2, 3, 4))
    even = ropes.same(three, two) or ropes.same(three, four)
    if even and not ropes.same(two, four):
        raise WrongAnswer(told(SHORT, 3).then(*filter(None, [told_ratio(ropes, ropes.turn(ropes.new(3), SHORT))])))


def heads_of(dtype: torch.dtype) -> int:
    """Fewer than positions, as many, and more than es: code may take one for the other, or tell them by number."""
    return {torch.float32: 3, torch.float16: 5}.get(dtype, MS + 1)


@pytest.mark.rubric("rope_boundary")
@contract_first(*TURNED, "rope_buffers")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: f"{name(dtype)}_{heads_of(dtype)}_heads")
def test_every_batch_row_and_head_is_turned_and_keeps_its_dtype(ropes: Ropes, seed: int, dtype: torch.dtype) -> None:
    """Compared with each row and head alone. The tables are float16; position 0 stays as it is."""
    if ropes.asking.by_heads:
        return  # rope_base charges for it: most positions have wrong angles
    x = normal(seed, "x", shape=(2, heads_of(dtype), 5, DIM)).to(dtype).transpose(1, 2)  # in memory as attention has it
    narrow = torch.float16
    try:
        output = ropes.new(dtype=narrow)(x.to(ropes.device))
    except Crashed as crash:
        if ropes.is_by_contract:
            raise
        narrow = torch.float32
        output = ropes.new(dtype=narrow)(x.to(ropes.device))
        ropes.excuse(crash, ("rope_buffers",))
    check_shape(output, x.shape)
    check_dtype(output, dtype)
    if dtype is torch.float32:
        first = x[:, :1].double() if ropes.is_recorded else ropes.rotated(x[:, :1], 1)

        def stays(output: Tensor) -> bool:
            return bool(((numbers(output, x.shape)[:, :1] - first).abs() <= EXACT).all())

        turns_at_zero = ropes.asking.own and not stays(ropes.new()(x.to(ropes.device)))  # rope_base charges for it
        if turns_at_zero:  # then rounding shows on numbers that float16 rounds to zero
            tiny = ropes.new(dtype=narrow)((x * 2.0**-40).to(ropes.device))
            require(bool(tiny.any()) or not bool(output.any()), say(INPUT_ROUNDED, dtype="float16"))
        else:
            require(stays(output), say(INPUT_ROUNDED, dtype="float16"))
    for row, head in ((0, 0), (1, 2)):
        one = x[row : row + 1, :, head : head + 1].float().contiguous()
        if ropes.is_by_contract:
            alone = ropes.rotated(one, 1)[0, :, 0]
        else:
            alone = numbers(ropes.new()(one.to(ropes.device)), one.shape)[0, :, 0]
        scale = x.double().abs().max() * 2.0 ** (0 if dtype is torch.float32 else -3)

        off = (numbers(output, x.shape)[row, :, head] - alone).abs().max()
        if bool(off > ROUGH * scale):
            one_row = x[row : row + 1]
            beside = numbers(ropes.new(dtype=narrow)(one_row.to(ropes.device)), one_row.shape)[0, :, head]
            right = bool((beside - alone).abs().max() <= ROUGH * scale)
            raise WrongAnswer(say(HEAD_DIFFERS, dtype=name(dtype), shape=list(x.shape)).then(*[ROW_RIGHT] * right))


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
def test_the_input_stays_as_it_was(ropes: Ropes, seed: int, dtype: torch.dtype) -> None:
    x = normal(seed, "x", shape=(2, 5, 5, DIM)).to(dtype)

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
def test_earlier_calls_leave_no_trace(ropes: Ropes, seed: int, dynamic: bool) -> None:
    """Calls with other values, dtypes and modes, none with growth: other properties judge what growth leaves.

    With the submission's own rotation, right or wrong, since it may change the module's tables.
    """
    if ropes.is_by_contract:
        turned = ropes.turn(ropes.new(dynamic=dynamic, training=not dynamic), SHORT)
        require(not ropes.same(turned[:1], turned[1:2]), ALIKE)  # tables that are not used show no trace
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
        Step(input=normal(seed, "call", k, shape=(2, 4 - k % 2, 4 + k % 2, DIM)).to(ropes.device)) for k in range(3)
    ]
    narrow_dtype = torch.float16 if dynamic else torch.bfloat16  # a submission may refuse one of them
    narrow_input = normal(seed, "narrow", shape=(2, 4, 5, DIM)).to(narrow_dtype).to(ropes.device)
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

        def check(beside: bool, others: Sequence[Mapping[str, int]] = OTHERS_BUILT) -> None:
            module = ropes.new(dynamic=dynamic)
            options = {"dynamic": dynamic, "device": ropes.device}
            built = [ropes.student.NTKAwareRoPE(**{**options, **sizes}) for sizes in others if beside]
            with growing(ropes.student, dynamic=dynamic):
                if built and not dynamic and others[0]["dim"] == DIM:  # growth of one of them shows what growth shares
                    ropes.turn(built[0], LONG)
                check_outputs(
                    ropes, ropes.turn(module, LONG), ropes.by_contract(8, LONG), told(LONG, 1, dynamic=dynamic)
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
        with growing(ropes.student, dynamic=dynamic):
            long = ropes.turn(module, LONG)
        kept = not ropes.same(ropes.turn(ropes.new(dynamic=dynamic), SHORT), long) and ropes.same(
            ropes.turn(module, SHORT), long
        )
    except StudentFault as fault:
        ropes.excuse(fault, GROWTH)
        return
    check_registration(module, len(long) if kept else MS)


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
    [(False, SHORT), (False, MIDDLE), (True, MIDDLE)],
    ids=["built", "static-grown", "dynamic-grown"],
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
            require(not ropes.is_by_contract or not ropes.same(shown[0, :1, 0], shown[0, 1:2, 0]), ALIKE)

        check_beside(ropes.student, check)
