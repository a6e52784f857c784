"""Task 4, NTKAwareRoPE judged by itself: other properties charge for ``apply_rotary_pos_emb``.

``rope_base`` and ``rope_exact_angles`` charge for wrong angles of new modules. The other properties compare with new
modules, to find the ratio that a call uses and what it leaves behind. Only ``rope_boundary`` has sequences exactly as
long as the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.conditions import RIGHT_FOR, check_beside, succeeds
from grader.assignment.hidden.construction import OTHER_DEFAULT
from grader.assignment.hidden.rope_tables import (
    OF_BASE,
    OF_RATIO,
    SIZES,
    SPEED,
    check_outputs,
    check_tables,
    require_positions,
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
    MIDDLE,
    MS,
    RATIOS_READ,
    SHORT,
    TURNED,
    Ropes,
    check_alone_too,
    contract_first,
    growing,
)
from grader.assignment.model.outputs import numbers
from grader.assignment.model.rotation import EXACT
from grader.assignment.model.turn_words import INPUT_ROUNDED
from grader.testing import (
    DTYPES,
    Crashed,
    Message,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_dtype,
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
HEAD_WRONG = "{dtype} output for shape {shape}: a head is rotated otherwise than in float32, on its own as well"
ROUGH = 2.0**-4  # more than a rounding to 16 bits
FEW_DIGITS = 2.0**16  # in the units of tables: more than the error of frequencies by a logarithm of the base in float16


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
    An input of 16 bits comes to the tables that float16 modules have, and to those that bfloat16 modules grow.

    A wrong base makes far angles wrong, too: what it costs is the sum of both properties.
    """
    for longest, base, length in ((2100, 3000, 4112), (600, 16, 599)):
        check_alone_too(ropes, partial(check_far, ropes, dtype, longest, base, length))


def check_far(ropes: Ropes, dtype: torch.dtype, longest: int, base: int, length: int) -> None:
    """Require exact angles of a new module of these sizes."""
    dynamic = dtype is torch.bfloat16  # a module that grows may compute the tables that it keeps by other steps
    given = torch.float32 if dynamic else dtype
    sizes = {"dim": 4, "max_seq_len": longest, "base": base, "ratio": 2, "dynamic": dynamic}
    if ropes.asking.in_full:
        length = 2 * longest
    elif not ropes.is_by_contract and ratio_of(ropes, base, longest, length) != 2:
        length = min(length, longest)  # of tables that end too early, another property's charge
    module = ropes.made(**sizes, dtype=dtype, device=ropes.device)
    told_sizes: dict[str, int | str] = {**sizes, "dynamic": str(dynamic), "dtype": name(dtype)}

    def check(
        k: float = 2,
        of_base: int = base,
        length: int = length,
        read: Tensor | None = None,
        appended: float | None = None,  # the ratio of rows beyond the initial ones, if it is another
    ) -> None:
        what = say(SIZES_DTYPE, s=length, **told_sizes)
        angles = oracle.ntk_angles(4, of_base, k, length)
        if appended is not None:
            angles[2 * longest :] = oracle.ntk_angles(4, of_base, appended, length)[2 * longest :]
        read = tables_shown(ropes, module, length, 4, given) if read is None else read
        check_tables(ropes, module, angles, what, dtype, read=read)

    try:
        check()
    except WrongAnswer as fault:
        angles = oracle.ntk_angles(4, base, 2, length)
        told = told_argument(check, base)
        shown = tables_shown(ropes, module, length, 4, given)
        raise fault.with_more(*told, partial(told_rounding, shown, angles, dtype)) from None
    except Crashed as crash:
        if dtype is torch.float32 or ropes.is_by_contract:
            raise
        ropes.excuse(crash, ("rope_buffers", "rope_boundary"))
    if base == 3000 and dtype is not torch.float16:  # bfloat16 shows what 16 bits round
        check_grown(ropes, module, check, base, longest, dtype)


def ratio_of(ropes: Ropes, base: int, longest: int, length: int) -> float | None:
    """Which ratio's tables serve so many positions in a new module of float32 with the ratio 2, if they are of one."""
    module = ropes.made(dim=4, max_seq_len=longest, base=base, ratio=2, dynamic=True, device=ropes.device)
    with suppress(StudentFault):
        return ratio_shown(tables_shown(ropes, module, length, 4), base, longest)
    return None


def check_grown(
    ropes: Ropes, module: StudentModule, check: Callable[..., None], base: int, longest: int, dtype: torch.dtype
) -> None:
    """Require far positions of grown tables to be exact; other properties judge by which ratio tables grow, and if."""
    length = 3 * longest + 100  # the smallest ratio is 4, even or not
    try:
        with growing(ropes.student, dynamic=dtype is torch.bfloat16):
            read = tables_shown(ropes, module, length, 4, dtype)
        ratio = ratio_shown(read, base, longest)
        if ratio is None and dtype is not torch.float32:  # whose angles may have 16 bits: as for an input of float32
            ratio = ratio_of(ropes, base, longest, length)
    except StudentFault as fault:
        if ropes.is_by_contract:
            raise
        ropes.excuse(fault, (*GREW, *GROWTH, "rope_buffers"))
        return
    if ratio is not None:
        grown = partial(check, ratio, length=length, read=read)
        try:
            grown()
        except WrongAnswer as fault:
            if not ropes.is_by_contract and any(succeeds(partial(grown, appended=k)) for k in RATIOS_READ):
                return
            angles = oracle.ntk_angles(4, base, ratio, length)
            raise fault.with_more(partial(told_rounding, read, angles, dtype)) from None


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
    require_positions(ropes, as_stated)


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
    require_positions(ropes, wanted)
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
def test_every_batch_row_and_head_is_turned_and_keeps_its_dtype(ropes: Ropes, dtype: torch.dtype) -> None:
    """Compared with each row and head alone. The tables are float16; position 0 stays as it is."""
    if ropes.asking.by_heads:
        return  # rope_base charges for it: most positions have wrong angles
    x = (
        normal(ropes.seed, "x", shape=(2, heads_of(dtype), 5, DIM)).to(dtype).transpose(1, 2)
    )  # in memory as attention has it
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
        one = x[row : row + 1, :, head : head + 1].contiguous()
        if ropes.is_by_contract:
            alone = ropes.rotated(one, 1)[0, :, 0]
        else:
            alone = numbers(ropes.new()(one.float().to(ropes.device)), one.shape)[0, :, 0]
        scale = x.double().abs().max() * 2.0 ** (0 if dtype is torch.float32 else -3)

        turned = numbers(output, x.shape)[row, :, head]
        if bool((turned - alone).abs().max() > ROUGH * scale):
            own = numbers(ropes.new(dtype=narrow)(one.to(ropes.device)), one.shape)[0, :, 0]
            if dtype is not torch.float32 and bool((own - turned).abs().max() <= ROUGH * scale):
                raise WrongAnswer(say(HEAD_WRONG, dtype=name(dtype), shape=list(x.shape)))
            one_row = x[row : row + 1]
            beside = numbers(ropes.new(dtype=narrow)(one_row.to(ropes.device)), one_row.shape)[0, :, head]
            right = bool((beside - alone).abs().max() <= ROUGH * scale)
            raise WrongAnswer(say(HEAD_DIFFERS, dtype=name(dtype), shape=list(x.shape)).then(*[ROW_RIGHT] * right))
