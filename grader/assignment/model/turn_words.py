"""Rotations in words: which features form pairs, which way and by whose angles they turn, and how gradients do."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.assignment.model.rotation import EXACT, SAME, Convention, turning_scale
from grader.testing import Message, in_two_decimals, listed, say

INPUT_ROUNDED = "the input is rounded to {dtype}, the dtype of the tables"
TABLES_RESCALED = say("as if cosines and sines were rescaled first, so that their squares add up to 1")
NOT_BACK = say("it is rotated by +angle, as the input is; it must turn back, by -angle: the sine changes its sign")
CUT_WITHIN = say("it arrives where apply_rotary_pos_emb is replaced by a function that returns its input")
BATCH_ALIKE = say("it is the same for every batch row, though what arrives is not")
LEFT = say("where it is wrong, it is the input, unchanged")
POSITIONS = "successive positions use the angles of positions {first} in the first batch row, {last} in the last"
RIGHT_CONTIGUOUS = say("with the same input contiguous in memory, it is right")
RIGHT_TOGETHER = "with {b} batch rows, {s} positions and {nh} heads, it is right"
SERVED = "pairs 0 to {n}: their first features use the angles of pairs {first}, their second features those of {second}"
SIGN_LOST = "all pairs are right but those whose {which} is negative: it counts as positive"
STILL = "with {n} features, those at {places} stay as they were"
THROUGH = say("only the part through {what} arrives")
OVERWRITTEN = say("the second half is computed from the first half's result, in place of its input: it was overwritten")
PLACED = "the results are right, but in the wrong places: those of features {order}, in this order"
OTHER_SINES = say("output for -sin, after a call with the same input, cos and sin")
MOST_PAIRS = 8  # that a message lists
WAYS = {
    (1, -1): say("each pair turns by +angle"),
    (-1, 1): say("each pair turns by -angle"),
    (1, 1): say("both sine terms are added, which is no rotation"),
    (-1, -1): say("both sine terms are subtracted, which is no rotation"),
}


def told_pairing(ends: Tensor) -> list[Message]:
    """Which features a quarter turn exchanges and which way, or which ones it leaves out, for messages.

    ``ends: [hd, hd]``: the output for each feature alone.
    """
    own = (ends - torch.eye(len(ends))).abs() <= SAME
    if bool((still := own.all(0)).any()):
        return [say(STILL, n=len(ends), places=listed(still))]
    if not bool(ends.isfinite().all() and ((ends.abs() > SAME).sum(-1) == 1).all()):
        return []
    partner, signs = ends.abs().argmax(-1).tolist(), ends.sum(-1).sign().int().tolist()
    ways = {(signs[one], signs[other]) for one, other in enumerate(partner) if one < other}
    if any(partner[other] != one or one == other for one, other in enumerate(partner)) or len(ways) > 1:
        moved = [
            (place, "-" * (sign < 0) + f"x{one}") for one, (sign, place) in enumerate(zip(signs, partner, strict=True))
        ]
        seen = ", ".join(" + ".join(x for place, x in moved if place == here) or "0" for here in range(len(ends)))
        return [say("turned by 90°, (x0, x1, x2, x3) becomes ({seen})", seen=seen)]
    pairs = ", ".join(f"({one}, {other})" for one, other in enumerate(partner) if one < other)
    return [say("with 4 features, your pairs are {pairs}", pairs=pairs), WAYS[ways.pop()]]


def told_still(still: Tensor) -> list[Message]:
    """What a turn by nothing makes of the first feature that it changes, if any, for messages."""
    moved = ((still - torch.eye(len(still))).abs() > SAME).any(-1).nonzero().flatten().tolist()[:1]
    return [say("rotated by zero, {told}", told=becomes(still, one)) for one in moved]


def becomes(given: Tensor, one: int) -> Message:
    """What becomes of one feature alone, in two digits of the student's own; ``given: [hd, hd]``."""
    shown = ["(" + ", ".join(map(in_two_decimals, row[one].tolist())) + ")" for row in (torch.eye(len(given)), given)]
    return say("{before} becomes {seen}", before=shown[0], seen=shown[1])


def told_pairs(output: Tensor, x: Tensor, cos: Tensor, sin: Tensor) -> Message | None:
    """By which pairs' angles features are turned, or which way or not at all, for messages; None if by their own."""
    one, two = x.flatten().double().chunk(2)
    c, s = (table[0].double()[: len(one)] for table in (cos, sin))
    given, limit = output.flatten().double().unsqueeze(1), SAME * torch.hypot(one, two).repeat(2).unsqueeze(1)

    def turned_by(c: Tensor, s: Tensor) -> Tensor:
        """``[hd, hd/2]``: which pair's angles turn each feature."""
        return (given - torch.cat((one.outer(c) - two.outer(s), two.outer(c) + one.outer(s)))).abs() <= limit

    same, own = turned_by(c, s), torch.eye(len(one), dtype=torch.bool).repeat(2, 1)
    wrong = ~(same & own).any(-1)  # [feature]
    if not bool(wrong.any()):
        return None
    for which, table, way in ((say("sine"), s, (c, s.abs())), (say("cosine"), c, (c.abs(), s))):
        if bool((table < 0).repeat(2)[wrong].all() and (turned_by(*way) & own).any(-1).all()):
            return say(SIGN_LOST, which=which)
    still = (given == x.double().reshape(given.shape)).flatten()  # exactly: of many features, some come near
    if bool(still.any() and not still.all()):
        return say(STILL, n=len(still), places=listed(still))
    first, second = given.flatten().chunk(2)
    if not bool(wrong.chunk(2)[0].any()) and bool(((second - two * c - first * s).abs() <= SAME).all()):
        return OVERWRITTEN
    if len(one) > MOST_PAIRS:
        return None
    served = same.where(wrong.unsqueeze(1), own).to(torch.uint8).argmax(-1).chunk(2)
    by = {"first": served[0].tolist(), "second": served[1].tolist()}
    return say(SERVED, n=len(one) - 1, **by) if bool(same.any(-1).all()) else None


def told_places(output: Tensor, expected: Tensor) -> list[Message]:
    """In which order the features of a rotated vector come, for messages, if it is another one."""
    given, wanted = output.flatten().double(), expected.flatten()
    off, order = (given.unsqueeze(1) - wanted).abs().min(-1)
    moved = bool((off <= EXACT * wanted.abs().max()).all()) and 1 < len(order.unique()) == len(order)
    shown = ", ".join(map(str, order.tolist()[:MOST_PAIRS])) + " …" * (len(order) > MOST_PAIRS)
    return [say(PLACED, order=shown)] * (moved and not torch.equal(order, torch.arange(len(order))))


def told_position(output: Tensor, convention: Convention, x: Tensor, cos: Tensor, sin: Tensor) -> Message | None:
    """By which positions' angles the vectors of the first batch row and of the last are turned, for messages.

    None if some vector is turned by no position's angles.
    """
    given = output.detach().cpu().double()
    limit = SAME * turning_scale(x)
    by_position = [
        (given - convention.rotate(x, *(table[[other]].expand_as(table) for table in (cos, sin)))).abs() <= limit
        for other in range(x.shape[1])
    ]
    turned_by = torch.stack(by_position).all(-1)  # [other position, b, s, nh]
    if not bool((turned_by.sum(0) == 1).all()):
        return None
    served = turned_by.to(torch.uint8).argmax(0)  # [b, s, nh]
    first, last = (served[row] for row in (0, -1))
    if bool((served == served[..., :1]).all()):
        return say(POSITIONS, first=first[:, 0].tolist(), last=last[:, 0].tolist())
    return say("head by head, position 0 is rotated by the angles of positions {served}", served=first[0].tolist())


def told_turn(gradient: Tensor, convention: Convention, upstream: Tensor, cos: Tensor, sin: Tensor) -> Message | None:
    """What became of the gradient that arrives, where it is no turn back, for messages."""
    nothing = torch.zeros_like(cos)
    first = torch.arange(upstream.shape[-1]) < upstream.shape[-1] // 2
    ways = (
        (NOT_BACK, convention.rotate(upstream, cos, sin)),
        (say("it is passed on unchanged"), upstream),
        (THROUGH.filled(what=say("the cosines")), convention.rotate(upstream, cos, nothing)),
        (THROUGH.filled(what=say("the sines")), convention.rotate(upstream, nothing, -sin)),
        (THROUGH.filled(what=say("the first half of the output")), convention.rotate(upstream * first, cos, -sin)),
        (THROUGH.filled(what=say("the second half of the output")), convention.rotate(upstream * ~first, cos, -sin)),
    )
    off = 2 * SAME * turning_scale(upstream)
    given = gradient.cpu().double()
    if told := next((told for told, way in ways if bool(((given - way.double()).abs() <= off).all())), None):
        return told
    alike = len(given) > 1 and bool(given.any() and (given == given[:1]).all())
    return BATCH_ALIKE if alike and not torch.equal(upstream, upstream[:1].expand_as(upstream)) else None
