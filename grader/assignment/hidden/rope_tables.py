"""Task 4: the tables by which outputs are turned, compared with the contract's, and in words what they are instead."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations

import torch
from torch import Tensor

from grader import testing
from grader.assignment import oracle
from grader.assignment.hidden.ropes import DIM, MOST, MS, RATIOS_READ, SAME_LIMIT, Ropes
from grader.testing import (
    ORDER,
    STEPS,
    Message,
    StudentFault,
    StudentModule,
    WrongAnswer,
    as_factor,
    check_errors,
    error_in_ulp,
    in_two_decimals,
    kept,
    listed,
    places,
    require,
    say,
    ulp,
)

# A float32 angle n * theta has a relative error of a few 2^-24, so its cosine an error of a few 2^-24 (1 + n * theta).
TABLE_LIMIT = 32.0
TABLE_UNIT = 2.0**-24
SPEED = 0.02  # relative, and of a radian: a bfloat16 table tells an angle better than that
FIRST = 4  # positions whose angles 16 bits hold as well as that
NEAR = 2.0**-7  # of a radian: by chance, no other of some thousand positions comes so near in all pairs
CALL = "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s}, [position, feature]"
CALL_AFTER = (
    "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s} after s = {when}, "
    "[position, feature]"
)
TABLES = say("cosines and sines for {what}, [position, feature]")
QUARTER = say("position 0 is rotated by a quarter turn: sines in place of cosines")
TURNED_ALREADY = say("position 0 is already rotated")
TIMES_ONE_FACTOR = "cosines and sines are multiplied by {factor}: the squares of the two no longer add up to 1"
INTERLEAVED = say("the angle of each pair is in two neighbouring columns, not in the same column of both halves")
SINES_WRONG = say("the cosines are right, the sines are not")
COSINES_WRONG = say("the sines are right, the cosines are not")
ALONE_RIGHT = "after s = {s} alone it is right"
SWITCHED = say("without train() and eval() between these calls it is right")
HEADS_TAKEN = say("the number of table rows used is the number of heads, not of positions")
IN_PARTS = "different positions use the tables of different ratios: {parts}"
LAST_ROWS = say("a call uses the last rows of the tables, not the first")
SPEEDS = "pair by pair, the angles are {factors} times the expected values"
SHIFTED = "position {here} is rotated as position {n} should be, position {next} as position {following}"
TAKEN_FOR = "position {here} is rotated as position {n} should be"
ALIKE_FROM = "all positions from {n} on are rotated alike"
OF_RATIO = "the tables used are those of ratio {k}"
ROUNDED = "as if {what} had been rounded to {dtype}"
OF_BASE = "the tables used are those of base {base}"
SIZES = "dim={dim}, max_seq_len={max_seq_len}, base={base}, ratio={ratio}, s = {s}"
MORE_DIGITS = "with dtype={dtype}, cosines and sines have more digits than {dtype} holds"
MORE_DIGITS_GROWN = "with dtype={dtype}, cosines and sines grown to s = {s} have more digits than {dtype} holds"
CONVERTED = "a float32 call with s = {s} converts the buffers from {dtype} to float32, and leaves them so"
SOME_PAIRS = "of the pairs 0–{last}, only these are wrong: {pairs}"
BY_HALVES = "in the first half of the positions {early} pairs are wrong, in the second {late}"
DRIFT = "where they are wrong, the squares of the two do not add up to 1, by up to {worst} rounding steps"
FEW_ROWS = "with ratio={ratio}, the tables have {n} rows, too few for s = {s}"
OF_TWO_RATIOS = "the cosines are those of ratio {cosines}, the sines those of ratio {sines}"
OF_NO_RATIO = "the tables used are of no integer ratio from 1 to {k}"
ALIKE = say("all positions are rotated alike, so this property cannot be checked")
PAIRS_TOLD = 4
MOST_PARTS = 4  # that a message lists
STEPS_ROUNDED = (say("positions"), say("frequencies"), say("angles"))
MOSTLY = 0.9  # of all elements; torch.arange rounds some positions of 16 bits otherwise
FIRST_COMPARED = "of these {s} positions, the first {n} are compared"
FEW_NUMBERS = "the registered buffers hold {n} numbers, too few for {length} positions"


def check_outputs(ropes: Ropes, actual: Tensor, expected: Tensor, what: Message, *, but_last: bool = False) -> None:
    """Require two outputs to agree where both have positions; the message says which ratio's tables were used.

    With ``but_last``, the last position counts as the one before it does.
    """
    given, (errors, actual, expected) = len(actual), ropes.compared(actual, expected)
    if but_last:
        errors[-1] = errors[-2]
    try:
        check_errors(errors, SAME_LIMIT, what, actual, expected, ropes.scale)
    except WrongAnswer as fault:
        told = partial(told_ratio, ropes, actual)  # in words only if it counts, unless new modules have to be asked
        first = say(FIRST_COMPARED, s=given, n=len(errors)) if len(errors) < given and not ropes.asking.at_end else None
        raise fault.with_more(first, told() if ropes.asking.own else told, partial(told_end, actual)) from None


def told_ratio(ropes: Ropes, turned: Tensor) -> Message | None:
    """Which ratio's tables were used, for messages; None where the tables do not show it."""
    try:
        ratios = ropes.ratios_of(turned)
        parts = _told_parts(ropes, turned) if len(ratios) == 1 and ratios[0] in RATIOS_READ else None
    except StudentFault:
        return None
    if not ratios:
        mixed = _told_start(ropes, turned) or (None if ropes.asking.own else _told_mixed(ropes, turned))
        return mixed or say(OF_NO_RATIO, k=MOST)
    return parts or (say(OF_RATIO, k=shown_ratio(ratios[0])) if len(ratios) == 1 else None)


def _told_parts(ropes: Ropes, turned: Tensor) -> Message | None:
    """Which positions are turned by which ratio's tables, for messages, if there are several."""
    ratios = dict.fromkeys((*RATIOS_READ, oracle.smallest_even_ratio(len(turned), MS)))
    tables = {ratio: ropes.of_ratio(ratio, len(turned)) for ratio in ratios}
    right = {k: (ropes.compared(turned, table)[0] <= SAME_LIMIT).all(-1) for k, table in tables.items()}
    parts: list[str] = []
    start, end = 0, len(turned)
    while start < end and len(parts) < MOST_PARTS:
        runs = {k: int(one[start:].int().cumprod(0).sum()) for k, one in right.items()}
        ratio = max(runs, key=runs.__getitem__)
        if not runs[ratio]:
            return None
        last = start + runs[ratio] - 1
        parts.append((f"{start}–{last}" if last > start else f"{start}") + f" (ratio {ratio})")
        start += runs[ratio]
    return say(IN_PARTS, parts=", ".join(parts)) if start == end and len(parts) > 1 else None


def _told_mixed(ropes: Ropes, turned: Tensor) -> Message | None:
    """Which ratios' cosines and sines were used, for messages, if these are two ratios."""
    first = RATIOS_READ[0]
    cosines = torch.stack([ropes.by_contract(ratio, len(turned), first) for ratio in RATIOS_READ])
    sines = torch.stack([ropes.by_contract(first, len(turned), ratio) for ratio in RATIOS_READ]) - cosines[0]
    errors = error_in_ulp(turned, cosines.unsqueeze(1) + sines, ropes.scale, torch.float32)  # [cosines, sines, s, hd]
    for one, other in (errors <= SAME_LIMIT).flatten(2).all(-1).nonzero().tolist():
        if one != other:
            return say(OF_TWO_RATIOS, cosines=RATIOS_READ[one], sines=RATIOS_READ[other])
    return None


def _told_start(ropes: Ropes, turned: Tensor) -> Message | None:
    """Which position the first vector was taken for, if any but 0, for messages; ``turned: [s, hd]``."""
    if ropes.same(turned[:1], ropes.by_contract(1, 1)):
        return None
    for ratio in RATIOS_READ:
        tables = ropes.by_contract(ratio, MOST * MS)
        near = error_in_ulp(turned[:1], tables, ropes.scale, torch.float32).amax(-1) <= SAME_LIMIT
        for first in near.nonzero().flatten().tolist():
            if 0 < first <= len(tables) - len(turned) and ropes.same(turned, tables[first : first + len(turned)]):
                if len(turned) == 1:
                    return say(TAKEN_FOR, here=0, n=first)
                return say(SHIFTED, here=0, n=first, next=1, following=first + 1)
    start, own = turned[0], ropes.by_contract(1, 1)[0]
    factor = float(start @ own / own.square().sum())
    if ropes.same(start, factor * own):
        return say(TIMES_ONE_FACTOR, factor=in_two_decimals(factor))
    return TURNED_ALREADY


def shown_ratio(ratio: float) -> int | str:
    """A ratio in a message."""
    return int(ratio) if ratio == int(ratio) else in_two_decimals(ratio)


def told(length: int, ratio: int, *, dynamic: bool = False, history: Sequence[int] = ()) -> Message:
    """The beginning of a message: the call's output, with all arguments that are needed to repeat the call."""
    call = say(CALL_AFTER if history else CALL, dim=DIM, max_seq_len=MS, ratio=ratio, dynamic=str(dynamic), s=length)
    return call.filled(when=", ".join(map(str, history)))


@kept
def _tables_read(angles: Tensor, cos_pairs: Tensor, sin_pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines, then sines, ``[s, hd]``, as those pairs read them; and the unit of each one's error."""
    both = torch.cat((angles[:, cos_pairs], angles[:, sin_pairs]), dim=-1)
    expected = torch.cat((angles[:, cos_pairs].cos(), angles[:, sin_pairs].sin()), dim=-1)
    return expected, TABLE_UNIT * (1 + both)


def table_errors(actual: Tensor, expected: Tensor, unit: Tensor, dtype: torch.dtype) -> Tensor:
    """Errors of cosines and sines in units of ``2^-24 (1 + angle)``, beyond the rounding of a 16-bit table."""
    errors = (actual - expected).abs()
    if dtype is not torch.float32:  # half an ulp of a number up to one, the rounding of the table
        errors = (errors - float(ulp(torch.tensor(0.75), dtype)) / 2).clamp(min=0)
    return (errors / unit).nan_to_num(nan=torch.inf)


def check_tables(
    ropes: Ropes,
    module: StudentModule,
    angles: Tensor,
    what: Message,
    dtype: torch.dtype = torch.float32,
    read: Tensor | None = None,
) -> None:
    """Require a call to turn by ``angles: [s, hd/2]``, seen in its output: (1, 0) becomes cosine and sine.

    What a call has shown may be given as ``read``, from :func:`tables_shown`.
    """
    dim = 2 * angles.shape[1]
    read = tables_shown(ropes, module, len(angles), dim) if read is None else read
    angles = angles[: len(read)]
    candidates = []
    for cos_pairs, sin_pairs in ropes.convention.pairs_read(dim):
        expected, unit = _tables_read(angles, cos_pairs, sin_pairs)
        candidates.append((table_errors(read, expected, unit, dtype), expected))
    errors, expected = min(candidates, key=lambda candidate: float(candidate[0].max()))
    try:
        check_errors(errors, TABLE_LIMIT, TABLES.filled(what=what), read, expected, 1.0)
    except WrongAnswer as fault:
        of_errors = fault

        def told() -> Message:
            cosines, sines = (bool(half.any()) for half in (errors > TABLE_LIMIT).chunk(2, dim=-1))
            if cosines != sines:  # so the angles are right
                return of_errors.message.then(SINES_WRONG if sines else COSINES_WRONG)
            first, second = (torch.arange(dim) // 2).chunk(2)  # the pair of each column; some read one half alone
            layouts = [_tables_read(angles, first, sines)[0] for sines in (first, second)]
            side_by_side = any(bool(((read - layout).abs() <= SPEED).all()) for layout in layouts)
            if side_by_side or ropes.asking.by_heads:  # then the order of columns, or of rows, says nothing more
                where = places(TABLES.filled(what=what), errors > TABLE_LIMIT)
                return where.then(INTERLEAVED if side_by_side else HEADS_TAKEN)
            wrong_from = int((errors > TABLE_LIMIT).any(-1).to(torch.uint8).argmax())
            moved = of_errors.message.fields(ORDER) is not None  # then single angles say nothing more
            turns = [LAST_ROWS] if ropes.asking.at_end else [] if moved else _told_turns(read, angles, wrong_from)
            is_small = dtype is torch.float32 and of_errors.message.fields(STEPS) is not None
            return of_errors.message.then(*turns, *(_told_small(read, errors > TABLE_LIMIT) if is_small else ()))

        raise WrongAnswer(told, fault.error_ulp, fault.limit_ulp, fault.elements) from None


def told_rounding(read: Tensor, angles: Tensor, dtype: torch.dtype) -> Message | None:
    """Which of positions, frequencies and angles were rounded to 16 bits, if that explains far positions, for messages.

    ``angles: [s, hd/2]``, and ``read`` from :func:`tables_shown`; where a product lies between two 16-bit numbers,
    float32 may round it to the other one.
    """
    turned = torch.complex(*read.chunk(2, dim=-1))
    positions, frequencies = torch.arange(len(angles), dtype=torch.float64).unsqueeze(-1), angles[1].double()
    of_table = 0.0 if dtype is torch.float32 else float(ulp(torch.tensor(0.75), dtype))
    near = of_table + TABLE_LIMIT * TABLE_UNIT * (1 + angles)
    off = (turned - torch.polar(torch.ones(()).double(), angles)).abs() > near
    for narrow in testing.DTYPES[1:]:
        for chosen in (chosen for size in (1, 2, 3) for chosen in combinations(STEPS_ROUNDED, size)):

            def through(step: str, value: Tensor) -> Tensor:
                return value.to(narrow).double() if step in chosen else value  # noqa: B023

            product = through("positions", positions) * through("frequencies", frequencies)
            there = torch.polar(torch.ones(()).double(), through("angles", product))
            right = (turned - there).abs() <= near
            if min(float(right.double().mean()), float(right[off].double().mean())) > MOSTLY:
                told = reduce(lambda first, other: say("{first}, {other}", first=first, other=other), chosen)
                return say(ROUNDED, what=told, dtype=testing.name(narrow))
    return None


def tables_shown(
    ropes: Ropes, module: StudentModule, length: int, dim: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """``[s, hd]``: cosines, then sines, that a call of that length turns by, with an input of that dtype.

    With one of float32, where an input of 16 bits shows others from the first positions on: rope_boundary charges.
    """
    probe = ropes.input(length, ropes.convention.probe(dim))

    def shown(dtype: torch.dtype) -> Tensor:
        return torch.cat(ropes.convention.read(ropes.called(module, probe.to(dtype))[0, :, 0]), dim=-1)

    read = shown(dtype)
    if dtype is torch.float32 or ropes.is_by_contract:
        return read
    wide = shown(torch.float32)
    return read if bool(((read - wide)[:FIRST].abs() <= SPEED).all()) else wide


def told_end(turned: Tensor) -> Message | None:
    """From which position on all are turned alike, ``turned: [s, hd]``, for messages."""
    first = len(turned) - int((turned == turned[-1]).all(-1).flip(0).int().cumprod(0).sum())
    return say(ALIKE_FROM, n=first) if 0 < first < len(turned) - 1 else None


def _told_small(read: Tensor, wrong: Tensor) -> list[Message]:
    """Where cosines and sines, ``[s, hd]``, are wrong by little, and if their lengths are wrong, too; for messages."""
    cosines, sines = read.chunk(2, dim=-1)
    pairs = wrong.unflatten(-1, (2, -1)).any(1)  # [s, hd/2]
    early, late = (int(half.sum()) for half in pairs.tensor_split(2))
    some = [] if bool(pairs.any(0).all()) else [say(SOME_PAIRS, last=pairs.shape[1] - 1, pairs=listed(pairs.any(0)))]
    drift = float((cosines.square() + sines.square() - 1)[pairs].abs().max()) / TABLE_UNIT
    piled_up = [say(DRIFT, worst=f"{drift:.0f}")] if drift > TABLE_LIMIT else []
    return [*some, say(BY_HALVES, early=early, late=late), *piled_up]


def _told_turns(read: Tensor, angles: Tensor, first: int) -> list[Message]:
    """By which turns the tables are wrong from their first wrong position on, for messages; nothing if none fits."""
    turned = torch.complex(*read.chunk(2, dim=-1))  # [s, hd/2]
    sizes, factor = turned.abs(), float(turned.abs().median())
    if abs(factor - 1) > SPEED and bool(((sizes - factor).abs() <= SPEED * factor).all()):
        return [say(TIMES_ONE_FACTOR, factor=in_two_decimals(factor))]
    if first == 1:
        quotients = (turned[1].angle() / angles[1]).tolist()
        factors = [*map(as_factor, quotients[:PAIRS_TOLD])]
        off = any(abs(quotient - 1) > SPEED for quotient in quotients) and {*factors} != {as_factor(1.0)}
        return [say(SPEEDS, factors=", ".join(factors) + " …" * (len(quotients) > PAIRS_TOLD))] * off
    if first == 0 and bool(((turned[0] - 1j).abs() < SPEED).all()):
        return [QUARTER]
    places = torch.arange(-len(angles), 4 * len(angles))
    places = places[(places - first).abs().argsort(stable=True)]  # the nearest first
    there = torch.polar(torch.ones(()).double(), places.unsqueeze(-1) * angles[1].double())  # [positions, hd/2]
    same = ((turned[first : first + 2].unsqueeze(1) - there).abs() < NEAR).all(-1)  # [2, positions]
    found = [int(places[row.to(torch.uint8).argmax()]) for row in same if bool(row.any())]
    if len(found) == 2 and found != [first, first + 1]:
        return [say(SHIFTED, here=first, n=found[0], next=first + 1, following=found[1])]
    return [TURNED_ALREADY] * (first == 0 and bool((turned[0].angle().abs() > SPEED).any() and turned.isfinite().all()))


def require_rows(turned: Tensor, length: int, ratio: int) -> None:
    """Require tables of as many rows as a call has positions."""
    require(len(turned) == length, say(FEW_ROWS, ratio=ratio, n=len(turned), s=length))


def require_positions(ropes: Ropes, turned: Tensor) -> None:
    """Require the first two positions to be turned differently: nothing shows in tables that are not used."""
    require(not ropes.same(turned[:1], turned[1:2]), ALIKE)
