"""Task 4, NTKAwareRoPE beyond es positions: which ratio it takes, and what it keeps of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial

import pytest
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.conditions import IN_EVALUATION, check_beside, in_mode, only_if, stating, succeeds
from grader.assignment.hidden.rope_tables import (
    ALONE_RIGHT,
    IN_PARTS,
    SIZES,
    SWITCHED,
    check_outputs,
    check_tables,
    require_rows,
    shown_ratio,
    told,
    told_end,
)
from grader.assignment.hidden.ropes import GREW, LONG, MIDDLE, MS, SHORT, TURNED, Ropes, check_alone_too, contract_first
from grader.assignment.hidden.rotations import CALLS, GROWING, MOVING, SWITCHING, WITHOUT, Calls, Growing
from grader.testing import Crashed, Message, StudentFault, StudentModule, WrongAnswer, require, say, without_gradients

NEAR = 128  # positions that tell ratios apart, and that all dtypes can count; errors of frequencies show further on
GROWN_TO = tuple(dict.fromkeys(row.length for row in GROWING))
OF_TABLES = ("rope_buffers", "rope_exact_angles")  # charge for tables of 16 bits, and modules beside
AS_BUILT = say("these are the tables that the module was built with: growth is not kept")
UNGROWN = "after calls with s = {lengths}, the tables have fewer than {n} positions: growth is not kept"
UNSEEN = say("the tables are the same for all ratios, so this property cannot be checked")
CHOSEN = "with ratio={ratio}, the k' used for s = {lengths} are {picked} in this order"
static, dynamic = (
    pytest.mark.parametrize("row", [row for row in CALLS if row.dynamic is kind], ids=lambda row: row.case)
    for kind in (False, True)
)


@pytest.mark.rubric("rope_smallest_even_ratio")
@contract_first(*TURNED, "rope_exact_angles", "rope_static")  # a base that a call leaves scaled
@pytest.mark.parametrize("row", GROWING, ids=lambda row: row.told)
def test_longer_sequences_use_the_smallest_even_ratio(ropes: Ropes, row: Growing) -> None:
    """Compared with a new module of that ratio; if all ratios have the same tables, by how many positions are kept."""
    if ropes.is_by_contract:
        check_alone_too(ropes, partial(check_grown, ropes, row))  # modules of other lengths may share a cache
        return
    length, ratio, wanted = row.length, row.ratio, oracle.smallest_even_ratio(row.length, MS)
    try:
        turned = ropes.turn(ropes.new(ratio), length)
    except Crashed as crash:
        if not ropes.asking.own or succeeds(lambda: ropes.of_new(wanted, length)):
            raise
        ropes.excuse(crash, ("rope_base",))  # which charges for tables that overflow, grown or new
        return
    try:
        require_rows(turned, length, ratio)
    except WrongAnswer as fault:
        raise fault.with_more(*chosen(ropes, ratio)) from None
    but_last = length == wanted * MS  # rope_boundary charges for the tables' last row
    compared = turned[: length - but_last]
    if ropes.same(compared, ropes.by_contract(wanted, length)):
        return
    if not ropes.same(ropes.of_ratio(wanted, length), ropes.of_ratio(wanted + 2, length)):
        piled_up = ropes.same(compared, ropes.of_ratio(ratio * wanted, length))  # charged to what calls leave
        if not piled_up or held_after(ropes, ratio, length) != wanted * MS:
            try:
                check_outputs(ropes, turned, ropes.of_ratio(wanted, length), told(length, ratio), but_last=but_last)
            except WrongAnswer as fault:
                if length > NEAR and ropes.same(turned[:NEAR], ropes.of_ratio(wanted, NEAR)):
                    ropes.excuse(fault, ("rope_exact_angles",))
                    return
                raise fault.with_more(*(() if fault.message.fields(IN_PARTS) else chosen(ropes, ratio))) from None
        return
    if length > NEAR and ropes.asking.sized:
        return  # the few positions that can be compared do not tell such ratios apart; shorter sequences do
    require(held_after(ropes, ratio, length) == wanted * MS, UNSEEN)


def check_grown(ropes: Ropes, row: Growing) -> None:
    """Require the contract's tables of a module with the row's own sizes."""
    sizes = {"dim": row.dim, "max_seq_len": row.max_seq_len, "base": row.base, "ratio": row.ratio}
    length = row.times * row.max_seq_len + row.beyond
    angles = oracle.ntk_angles(row.dim, row.base, oracle.smallest_even_ratio(length, row.max_seq_len), length)
    module = ropes.made(**sizes, dynamic=False, device=ropes.device)
    check_tables(ropes, module, angles, say(SIZES, s=length, **sizes))


def chosen(ropes: Ropes, ratio: int) -> list[Message]:
    """Which k' serves each length that grows, for messages; also with ratio=2, if that matters."""
    by_ratio = {ratio: picks(ropes, ratio), 2: picks(ropes, 2)}
    if all(by_ratio[2].get(length, k) == k for length, k in by_ratio[ratio].items()):
        del by_ratio[2]
    return [
        say(CHOSEN, ratio=initial, lengths=", ".join(map(str, used)), picked=", ".join(map(str, used.values())))
        for initial, used in by_ratio.items()
        if used
    ]


def picks(ropes: Ropes, ratio: int) -> dict[int, int | str]:
    """The k' that serves each length that grows, if one does; nothing where some call crashes."""
    lengths = [length for length in GROWN_TO if length > ratio * MS]
    try:
        read = [ropes.ratios_of(ropes.turn(ropes.new(ratio), length)) for length in lengths]
    except StudentFault:
        return {}
    return {length: shown_ratio(used[0]) for length, used in zip(lengths, read, strict=True) if len(used) == 1}


def held_after(ropes: Ropes, ratio: int, length: int) -> float:
    """How many positions a dynamic module holds after a call of that length."""
    module = ropes.new(ratio, dynamic=True)
    ropes.turn(module, length)
    return ropes.positions_held(module)


@pytest.mark.rubric("rope_static")
@contract_first(*GREW, "rope_dynamic", *OF_TABLES)
@static
def test_a_static_module_forgets_a_long_sequence(ropes: Ropes, row: Calls) -> None:
    """Each call answers as the first call of a new module does; one position is the first one, not the next."""
    if ropes.is_by_contract:
        check_history(ropes, row)
        return
    only_if(row.beside, partial(check_forgotten, ropes, row), say(WITHOUT, condition=row.others))


def check_forgotten(ropes: Ropes, row: Calls, beside: bool) -> None:
    """Require each call of a static module to answer as the first call of a new one, perhaps both beside others."""
    ratio, training = row.ratio, row.training
    middle, long = answered(ropes, dynamic=False)
    # rope_boundary charges for a module that refuses one position
    one = 1 if succeeds(lambda: ropes.turn(ropes.new(), 1)) else SHORT
    within = ratio * MS - 1  # beyond ``ms`` where the ratio is larger than one
    lengths = {
        1: (one, long, middle, SHORT, one),
        2: (one, long, within, middle, one),
        3: (one, long, SHORT, middle, within),
    }[ratio]
    alike = {"dynamic": False, "training": training, "beside": beside}
    if not (first := first_calls(ropes, ratio, [*{SHORT, *lengths}], **alike)):
        return
    if not training and ropes.asking.mode is None:
        excuse_evaluation(ropes, ratio, first)
    module, *others = ropes.among(ratio, **alike)
    history: list[int] = []
    for length in lengths:
        turned = ropes.turn(module, length)
        if history and not ropes.same(turned, first[length]):
            what = told(length, ratio, history=history)
            check_after(ropes, lambda: ropes.new(ratio, training=training), first[length], history, length, what)
        check_outputs(ropes, turned, first[length], told(length, ratio, history=history))
        history.append(length)
    del others  # these were alive until here
    grows = not ropes.same(first[long], first[SHORT])
    require(grows or ropes.positions_held(module) == ropes.positions_held(ropes.new(ratio)) > 0, UNSEEN)


def check_history(ropes: Ropes, row: Calls) -> None:
    """Require the contract's tables of each call; a fault names the conditions without which it is right."""
    try:
        check_beside(ropes.student, partial(check_calls, ropes, row))
    except WrongAnswer as fault:
        alone = (told for told, without in row.without() if succeeds(partial(check_calls, ropes, without, True)))
        raise fault.with_more(*alone) from None


def check_calls(ropes: Ropes, row: Calls, beside: bool) -> None:
    """Require the contract's tables of each call of a history, perhaps beside other modules."""
    ropes, beside = ropes.of_tables(row.base, row.dtype), beside and row.beside
    build = partial(ropes.new, row.ratio, dynamic=row.dynamic, training=row.training)
    module, *others = ropes.among(row.ratio, dynamic=row.dynamic, training=row.training, beside=beside)
    history: list[int] = []
    for length, held in zip(row.lengths, row.held(), strict=True):
        if history and row.between == SWITCHING:
            module.train(not row.training).train(row.training)
        if history and row.between == MOVING:
            module.to(row.dtype)
        what, wanted = told(length, row.ratio, dynamic=row.dynamic, history=history), ropes.by_contract(held, length)
        with nullcontext() if row.recording else without_gradients():
            turned = ropes.turn(module, length)
            if history and not ropes.same(turned, wanted):
                check_after(ropes, build, wanted, history, length, what)
            check_outputs(ropes, turned, wanted, what)
        history.append(length)
    del others  # these were alive until here


def excuse_evaluation(ropes: Ropes, ratio: int, first: Mapping[int, Tensor]) -> None:
    """Leave to ``rope_dynamic`` what first calls, by length, give in evaluation alone, of static and dynamic modules.

    Raises:
        WrongAnswer: If it is what static modules alone give.
    """
    trained = first_calls(ropes, ratio, [*first], dynamic=False, training=True)
    for length, wanted in trained.items():
        try:
            check_outputs(ropes, first[length], wanted, told(length, ratio))
        except WrongAnswer as fault:
            told_mode = fault.with_more(IN_EVALUATION)
            if not ropes.same(first[length], ropes.first(ratio, length, dynamic=True, training=False)):
                raise told_mode from None
            ropes.excuse(told_mode, ("rope_dynamic",))
            return


def first_calls(
    ropes: Ropes, ratio: int, lengths: Sequence[int], *, dynamic: bool, training: bool, beside: bool = False
) -> dict[int, Tensor]:
    """By length, what the first call of a new module gives.

    Nothing if such a call crashes with this ratio and with a ratio of one does not: growth itself is charged for it.
    """

    def called(ratio: int) -> dict[int, Tensor]:
        asked = partial(ropes.first, ratio, dynamic=dynamic, training=training, beside=beside)
        return {length: asked(length) for length in lengths}

    try:
        return called(ratio)
    except Crashed as crash:
        if not succeeds(lambda: called(1)):
            raise
        ropes.excuse(crash, GREW)
        return {}


def check_after(
    ropes: Ropes, build: Callable[[], StudentModule], wanted: Tensor, history: Sequence[int], length: int, what: Message
) -> None:
    """Require a call after others to agree; the message names as few of the earlier ones as still change it.

    ``what`` is filled with the history; a dynamic module's longest call is kept, since it decides what is wanted.
    """

    def last(earlier: Sequence[int]) -> Tensor | None:
        module = build()
        try:
            return [ropes.turn(module, called) for called in (*earlier, length)][-1]
        except StudentFault:
            return None

    needed, place = list(history), 0
    while place < len(needed):
        fewer = needed[:place] + needed[place + 1 :]
        turned = last(fewer) if fewer and max(fewer) == max(needed) else None
        if turned is not None and not ropes.same(turned, wanted):
            needed = fewer
        else:
            place += 1
    turned = last(needed)
    if turned is not None:
        longest = max(needed)
        alone = last([longest]) if len(needed) > 1 else None
        right = alone is not None and ropes.same(alone, wanted)
        with stating(say(ALONE_RIGHT, s=longest)) if right else nullcontext():
            check_outputs(ropes, turned, wanted, what.filled(when=", ".join(map(str, needed))))


def answered(ropes: Ropes, *, dynamic: bool) -> tuple[int, int]:
    """Two lengths beyond the tables for which new modules do not crash, with a right ratio or a wrong one."""
    with suppress(Crashed):
        if len(ropes.turn(ropes.new(dynamic=dynamic), MIDDLE)) == MIDDLE:
            return MIDDLE, LONG
    return MIDDLE - 1 + MS, LONG - 1 + MS


@pytest.mark.rubric("rope_dynamic")
@contract_first(*GREW, "rope_static", *OF_TABLES)
@dynamic
def test_a_dynamic_module_keeps_what_it_grew_to(ropes: Ropes, row: Calls) -> None:
    """Two growths in a row, both counted from ``max_seq_len``, with shorter inputs between and after them.

    After a long call, shorter calls must answer as it did; the second growth must answer as a new module does.
    """
    if ropes.is_by_contract:
        check_history(ropes, row)
        return
    check = partial(check_growth_kept, ropes, row.ratio, *answered(ropes, dynamic=True))
    try:
        in_mode(check, row.training)
    except WrongAnswer as fault:
        raise fault.with_more(SWITCHED if succeeds(partial(check, row.training, switched=False)) else None) from None


def check_growth_kept(
    ropes: Ropes, ratio: int, middle: int, long: int, training: bool, *, switched: bool = True
) -> None:
    """Require it of a module in one mode, perhaps ``switched`` to the other and back before each call but the first."""
    lengths = (SHORT, middle, long)
    if not (first := first_calls(ropes, ratio, lengths, dynamic=True, training=training)):
        return
    module = ropes.new(ratio, dynamic=True, training=training)
    shows = not ropes.same(first[long], first[SHORT])
    wanted, grows, serves = first[SHORT], True, False
    forgotten: WrongAnswer | None = None
    history: list[int] = []
    for length in (SHORT, middle, SHORT, 4 * MS - 1, long, middle):
        if history and switched and ropes.asking.mode is None:
            module.train(not training).train(training)
        turned = ropes.turn(module, length)
        if length == middle and middle not in history:
            wanted = turned
            grows = shows or not ropes.same(turned, first[SHORT])
            ungrown = say(UNGROWN, lengths=f"{SHORT}, {middle}", n=middle).then(*filter(None, [told_end(turned)]))
            require(grows or ropes.positions_held(module) >= middle, ungrown)
        elif length == long and not (ropes.same(turned, wanted) and held_after(ropes, ratio, middle) >= long):
            wanted = first[long]  # unless the first growth left room: the property about the ratio charges for that
        within = MS < length < max([0, *history])
        serves |= within and ropes.same(turned, wanted)  # what was kept; then no call makes new tables for no reason
        if within and not serves and grows_within(ropes, long):
            wanted = ropes.first(ratio, length, dynamic=True, training=training)  # rope_boundary charges for that
        what = told(length, ratio, dynamic=True, history=history)
        try:
            if history and not ropes.same(turned, wanted):
                build = partial(ropes.new, ratio, dynamic=True, training=training)
                check_after(ropes, build, wanted, history, length, what)
            check_outputs(ropes, turned, wanted, what)
        except WrongAnswer as fault:
            is_as_built = length == SHORT and ropes.same(turned, first[SHORT])
            fault = fault.with_more(AS_BUILT if is_as_built else None)
            if not ropes.asking.in_full or not is_as_built:
                raise fault from None
            forgotten = fault  # which rope_boundary charges for, if longer calls show that growth is kept
        history.append(length)
    if forgotten is not None and not serves:
        raise forgotten
    called = ", ".join(map(str, history))
    require(grows or ropes.positions_held(module) >= long, say(UNGROWN, lengths=called, n=long))


def grows_within(ropes: Ropes, long: int) -> bool:
    """Whether modules wrongly make new tables between ``ms`` and ``es``: a new one, and one that has grown."""
    grown = ropes.new(dynamic=True)
    ropes.turn(grown, long)
    kept = ropes.same(ropes.turn(ropes.new(3), 3 * MS - 1), ropes.turn(ropes.new(3), SHORT))
    return not kept and ropes.same(ropes.turn(grown, 6 * MS), ropes.turn(ropes.new(), 6 * MS))
