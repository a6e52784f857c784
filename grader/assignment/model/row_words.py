"""Rows of embeddings and their gradients in words: which ids are wrong, and what they give or receive instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.testing import DTYPES, Message, WrongAnswer, as_factor, check_shape, in_two_decimals, listed, name, say

SAME_FACTOR = 2.0**-6  # relative: 16-bit rows are rounded that much
SUM = "the sum of the rows of ids {one} and {other}"
MEAN = "the mean of the rows of ids {one} and {other}"
ONE_NUMBER = "{number} in every feature"
GIVES = "id {id} gives {seen}"
ROW_OF = "the row of id {id}"
WRONG_ROWS = "{what}: wrong rows for {n} of {all} ids"
RANKED = "these are the rows of the ids' ranks in this call, as unique() numbers them, from row {start} on"
CONVERTED = "these are the rows of the ids converted to {dtype}"
SCALED = say("its own row times a number")
ROWS_TIMES = "each id gives its own row times {factor}"
ROWS_TIMES_SOME = say("each id gives its own row times a number")
RECEIVES = "the row of id {id} receives {seen}"
OTHERS_SUMMED = say("other rows that are used several times receive the sum, as they should")
FOREIGN_TOO = say("its own gradients, and those of ids that give zeros")
REMAINDER = "on each rank, an id of its own gives row id % {n} of the shard"
CUT = "the right gradient, but zeros in features {places}"
MULTIPLE = "{factor} times the expected gradient"
LEFT_OUT = "only the last {n} of {all} tokens are wrong: they are not computed"
LEFT_OUT_OF_ROWS = "in each batch row, only the last {n} of {all} tokens are wrong: they are not computed"
IN_16_BITS = "the right sum, but in {dtype} numbers"
FEWER_DIGITS = say("the right sum, but with fewer digits than its dtype holds")
CHANGES = (
    (say("these are the right rows, but with 0 in place of negative numbers"), torch.relu),
    (say("these are the right rows, but without the signs of their numbers"), torch.abs),
)
ELSEWHERE = say("at other places of this call, the same ids give their rows")
OWN_HERE = say("its own row, but a different output in other calls")
TOLD = 3  # ids that a message names
ADDED = 64  # rows of a table in which sums of two are looked for
EXACT = 2.0**-20  # relative: the rounding of such a sum


def check_rows(output: Tensor, expected: Tensor, ids: Tensor, table: Tensor, what: Message) -> None:
    """Require the expected rows bit for bit, however the output is placed.

    Args:
        output: What the ids give, ``[*ids.shape, e]``.
        expected: What they should give: rows of the table, or zeros.
        ids: Whose rows these are.
        table: The whole one, ``[v, e]``.
        what: For the message.

    Raises:
        WrongAnswer: Naming some ids, and the rows that they give.
    """
    check_shape(output, expected.shape)
    actual = output.detach().cpu().double()
    wrong = (actual != expected.cpu().double()).any(-1)

    def told() -> Message:
        seen = {int(i): _seen(row, int(i), table.double()) for i, row in zip(ids[wrong], actual[wrong], strict=True)}
        nonzero = {int(i) for i in ids[(expected.cpu() != 0).any(-1)]}
        seen |= {i: OWN_HERE for i, row in seen.items() if i in nonzero and row == say(ROW_OF, id=i)}
        some = [say(GIVES, id=identifier, seen=row) for identifier, row in [*seen.items()][:TOLD]]
        if set(seen.values()) == {SCALED}:
            factors = (actual[wrong] / table.double()[ids[wrong]]).median(-1).values
            alike = bool(((factors - factors[0]).abs() <= SAME_FACTOR * factors[0].abs()).all())
            some = [say(ROWS_TIMES, factor=in_two_decimals(float(factors[0]))) if alike else ROWS_TIMES_SOME]
        changed = [
            told for told, way in CHANGES if actual[wrong].any() and torch.equal(actual, way(expected.cpu().double()))
        ]
        wrong_ones = say(WRONG_ROWS, what=what, n=(n := int(wrong.sum())), all=wrong.numel())
        is_place = bool(wrong.flatten()[-n:].all() and torch.isin(ids[wrong], ids[~wrong]).all())  # not the ids
        if is_place and not bool(actual[wrong].any()):
            return wrong_ones.then(say(LEFT_OUT, n=n, all=wrong.numel()))
        some += [ELSEWHERE] * bool(torch.isin(ids[wrong], ids[~wrong]).all())
        order = _order(actual, expected.cpu().double(), ids) or _ranked(actual, ids, table.double())
        return wrong_ones.then(*(changed or some * (not (order and _is_by_place(actual, ids)))), *filter(None, [order]))

    if bool(wrong.any()):
        raise WrongAnswer(told, elements=table.numel())


def told_conversion(output: Tensor, ids: Tensor, rows: Tensor, start: int = 0) -> Message | None:
    """Which dtype the ids were converted to, if that explains each row, for messages.

    Args:
        output: What the ids give, ``[*ids.shape, e]``.
        ids: The ids; converted as they are, or after ``start`` has been subtracted.
        rows: What each id should give, ``[v, e]``.
        start: The first id that the module owns.
    """
    if output.shape != (*ids.shape, rows.shape[1]):
        return None
    for dtype in (torch.bfloat16, torch.float16, torch.int16, torch.uint8, torch.int8):
        for first in {0, start}:
            there = first + (ids - first).to(dtype).double()
            known = there.abs() < len(rows)  # for all other ids, what a lookup gives is not known
            right = output.cpu().double()[known] == rows[there[known].long() % len(rows)].double()
            if bool(right.all() and (there != ids)[known].any()):
                return say(CONVERTED, dtype=str(dtype).removeprefix("torch."))
    return None


def _order(actual: Tensor, expected: Tensor, ids: Tensor) -> Message | None:
    """In which other order the rows of a call come, if they are the right ones; for messages."""
    places = torch.arange(ids.numel()).reshape(len(ids), -1)
    rows, given = expected.flatten(0, -2), actual.flatten(0, -2)
    rest = ids.numel() - int((rows != given).any(-1).to(torch.uint8).argmax())
    again = torch.cat((places.flatten()[:-rest], places.flatten()[:rest]))
    repeated = (
        (say("in every batch row those of the first"), places[:1].expand_as(places)),
        (say("the first ones again in place of the last {n}", n=rest), again),
    )
    orders = (
        *repeated * (ids.dim() > 1 and _is_by_place(actual, ids)),
        (say("column by column"), places.T),
        (say("column by column"), places.reshape(places.T.shape).T),
        (say("with the first row last"), places.flip(0)),
        (say("from right to left"), places.flip(1)),
        (say("sorted by id within each row"), places.gather(1, ids.reshape(places.shape).argsort(dim=-1, stable=True))),
        (say("sorted by id"), ids.flatten().argsort(stable=True)),
    )
    found = (told for told, order in orders if torch.equal(rows[order.flatten()], given))
    named = next(found, None) or (say("in other places") if _moved(rows, given, ids.flatten()) else None)
    return say("the output holds the rows of these ids, but {order}", order=named) if named else None


def _moved(rows: Tensor, given: Tensor, ids: Tensor) -> bool:
    """Whether the rows of a call have changed places, which no map of ids to rows explains."""
    one, other = (all_rows.unique(dim=0, return_counts=True) for all_rows in (rows, given))
    alike = all(len(a) == len(b) and torch.equal(a, b) for a, b in zip(one, other, strict=True))
    return alike and _is_by_place(given, ids)


def _is_by_place(given: Tensor, ids: Tensor) -> bool:
    """Whether some id gives two different rows."""
    return len(torch.cat((ids.unsqueeze(-1), given), dim=-1).flatten(0, -2).unique(dim=0)) > len(ids.unique())


def _ranked(actual: Tensor, ids: Tensor, table: Tensor) -> Message | None:
    """Whether each id gives the row of its rank among the ids of the call, from row 0 or the smallest id on."""
    smallest, (used, ranks) = int(ids.min()), ids.unique(return_inverse=True)
    starts = [start for start in (0, smallest) if torch.equal(actual, table[(start + ranks) % len(table)])]
    apart = int(used[-1]) - smallest >= len(used)  # ranks of ids in a row are these ids, shifted
    return say(RANKED, start=starts[0]) if starts and apart else None


def _seen(given: Tensor, identifier: int, table: Tensor) -> str:
    """What an id gives, ``[e]``, in words."""
    if not bool(given.isfinite().all()):
        return say("numbers that are not finite")
    if not bool(given.any()):
        return say("zeros")
    if bool((same := (table == given).all(-1)).any()):
        return say(ROW_OF, id=int(same.to(torch.uint8).argmax()))
    if bool((given == given[0]).all()) and len(given) > 1:
        return say(ONE_NUMBER, number=f"{float(given[0]):.4g}")
    own = table[identifier]
    if bool(((given - own).abs() <= SAME_FACTOR * own.abs()).all()):
        return say("its own row, rounded")
    factor = (given @ own) / own.square().sum()
    if len(own) > 1 and bool(((given - factor * own).abs() <= SAME_FACTOR * given.abs().max()).all()):
        return SCALED
    if len(table) <= ADDED:
        for parts in (1, 2):
            off = (table.unsqueeze(1) + table - parts * given).abs().amax(-1)  # [v, v]: from the sum of each two rows
            one, other = divmod(int(off.argmin()), len(table))
            if float(off.min()) <= EXACT * float(given.abs().max()):
                return say(SUM if parts == 1 else MEAN, one=one, other=other)
    return say("no row of the table")


def told_remainder(sources: Tensor) -> Message | None:
    """Of which remainder of an id the shard's row is that each rank gives its own ids, if it has such a row.

    ``sources: [ranks, v]`` are rows of the whole table, -1 for none. Among three ranks, a remainder is no shift.
    """
    own = torch.arange(sources.shape[1]).reshape(len(sources), -1)  # [ranks, count]
    given, count = sources.gather(1, own) - own[:, :1], own.shape[1]
    for n in range(2, own.numel()):
        known = own % n < count
        if n != count and bool((given == own % n)[known].all() and (given < 0)[~known].all()):
            return say(REMAINDER, n=n)
    return None


def answered(ranks: Sequence[Tensor]) -> Message:
    """Which of the ids from 0 on give something on each rank, for messages; each of ``ranks`` is ``[ids, e]``."""
    nonzero = [(given.nan_to_num(nan=1.0) != 0).any(-1) for given in ranks]
    seen = " | ".join(f"rank {rank}: {listed(ids) or '-'}" for rank, ids in enumerate(nonzero))
    return say("ids that give nonzero rows, with world_size={world}: {seen}", world=len(ranks), seen=seen)


def check_received(
    gradient: Tensor, expected: Tensor, identifiers: Tensor, uses_of: Callable[[Tensor], Tensor], what: Message
) -> None:
    """Require gradients of rows bit for bit, in their own dtype; the message names some rows and what they receive.

    ``uses_of`` gives what arrives from each use of a row, ``[uses, e]``; for -1, from ids that give zeros.
    """
    check_shape(gradient, expected.shape, what)
    actual, expected = gradient.detach().cpu().double(), expected.to(gradient.dtype).cpu().double()
    wrong = (actual != expected).any(-1)
    if bool(wrong.any()):
        rows = wrong.nonzero().flatten().tolist()
        uses = {row: uses_of(identifiers[row]) for row in rows}
        shared = _shared(actual[wrong], expected[wrong], [*uses.values()], gradient.dtype)
        foreign = uses_of(torch.tensor(-1)).sum(0)
        if bool(foreign.any()) and torch.equal((actual - expected).sum(0), foreign):
            shared = FOREIGN_TOO
        some = [
            say(RECEIVES, id=int(identifiers[row]), seen=shared or _received(actual[row], expected[row], uses[row]))
            for row in rows[:TOLD]
        ]
        wrong_ones = say(
            "{what}: wrong gradients in {n} of {all} rows", what=what, n=int(wrong.sum()), all=wrong.numel()
        )
        summed = any(len(uses_of(row)) > 1 for row in identifiers[~wrong])
        raise WrongAnswer(wrong_ones.then(*some, *[OTHERS_SUMMED] * summed), elements=actual.numel())


def _shared(actual: Tensor, expected: Tensor, uses: list[Tensor], dtype: torch.dtype) -> Message | None:
    """What all wrong rows receive, ``[rows, e]``, if one rule explains them: rounded, a multiple, or cut by a bound."""
    allowed = SAME_FACTOR * torch.stack([rows.abs().sum(0) for rows in uses])
    if bool(((actual - expected).abs() <= allowed).all()):
        narrow = (one for one in DTYPES[:0:-1] if one is not dtype and torch.equal(actual, actual.to(one).double()))
        return next((say(IN_16_BITS, dtype=name(one)) for one in narrow), FEWER_DIGITS)
    if bool(expected.any()) and bool(actual.any()):
        factor = (actual * expected).sum() / expected.square().sum()
        is_mean = all(len(rows) > 1 and abs(float(factor) * len(rows) - 1) < SAME_FACTOR for rows in uses)
        if bool(((actual - factor * expected).abs() <= SAME_FACTOR * expected.abs()).all()) and not is_mean:
            return say(MULTIPLE, factor=as_factor(float(factor)))
    cut = (actual == 0).all(0) & (expected != 0).any(0)  # [e]
    if len(actual) > 1 and 0 < int(cut.sum()) < len(cut) and torch.equal(actual, expected.masked_fill(cut, 0)):
        return say(CUT, places=listed(cut))
    bound = float(actual.abs().max())
    for at in {bound, *actual.abs().flatten().tolist()} - {0.0}:
        if all(torch.equal(rows.clamp(-at, at).sum(0), row) for rows, row in zip(uses, actual, strict=True)):
            return say("the gradients of its uses, each clamped at {bound}", bound=in_two_decimals(at))
    if bound and bool((expected.clamp(-bound, bound) == actual).all()):
        return say("the sum, clamped at {bound}", bound=in_two_decimals(bound))
    return None


def _received(actual: Tensor, expected: Tensor, uses: Tensor) -> Message:
    """How the gradient of a row lies to the one that it should receive, both ``[e]``, in words.

    Args:
        actual: What it receives.
        expected: The sum of what it should receive.
        uses: The gradient that arrives from each of its uses, ``[uses, e]``.
    """
    if not bool(actual.any()):
        return say("nothing")
    if not bool(expected.any()):
        return say("a nonzero gradient, although none of these ids uses it")
    if len(uses) > 1:
        if bool((actual == uses).all(-1).any()):
            return say("the gradient of only one of its uses")
        if bool(((actual - uses.mean(0)).abs() <= SAME_FACTOR * uses.abs().amax(0)).all()):
            return say("the mean of the gradients of its uses")
    factor = (actual @ expected) / expected.square().sum()
    if bool(((actual - factor * expected).abs() <= SAME_FACTOR * expected.abs()).all()):
        return say(MULTIPLE, factor=as_factor(float(factor)))
    return say("a different sum")
