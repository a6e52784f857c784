"""Random numbers in words: the right ones, but stretched, or those of another seed, dtype or distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import torch
from torch import Tensor

from grader.testing import Message, in_two_decimals, kept, name, own_look, say

ALONG: Final = 0.9999  # correlation: of two draws it is far lower
SEEDS: Final = (*range(48), 123, 1234)  # beside those near the right one; the submission's time runs meanwhile
NEAR: Final = 8
FARTHEST: Final = 64  # what a rank may add to a seed
EARLIER: Final = 3  # draws of the same size
LARGEST: Final = 1 << 10  # numbers that are looked for after any number of earlier ones, not after whole draws only
OF_SEED: Final = "they are the numbers of seed {seed}"
NEXT_SEED: Final = "they are the numbers of seed {seed}, right beside this one"
AFTER_DRAWS: Final = "they are the numbers of seed {seed}, too late by {n}"
LATER: Final = "they are this seed's numbers, too late by {n}"
UNKNOWN: Final = say("these are not the numbers of this draw")
RANKS_SEEDS: Final = "rank by rank, {world} ranks draw with seeds {seeds}"
CLAMPED: Final = "only numbers beyond {n} standard deviations are wrong: they are clamped there"
BOUNDED: Final = say("only numbers beyond one bound are wrong: they are clamped there")
REPLACED: Final = "only numbers beyond {n} standard deviations are wrong: they are replaced"
RANKS_SPREADS: Final = "rank by rank, {world} ranks draw with standard deviations {spreads}"
ONE_SEED: Final = "all {world} ranks draw with seed {seed}"
ROWS_OF_TABLE: Final = "rank by rank, {world} ranks hold their rows of whole tables drawn with seeds {seeds}"
OTHER_ORDER: Final = say("they are the right random numbers in another order")
ANOTHER_SCALE: Final = say("they are the right random numbers, scaled or shifted")
MIRRORED: Final = say("they are the right random numbers, mirrored: the bounds are swapped, or the sign is turned")
OTHER_KIND: Final = say("they are this seed's numbers for a {kind} draw")
ZERO_UNHEARD: Final = say(
    "they are this seed's numbers with a standard deviation of 1, the default: 0 is treated as not given"
)
STATED: Final = 0.02  # how far moments may be off, of the deviation, and still be told as the ones asked for


@dataclass(frozen=True)
class Draw:
    """How a parameter is filled with random numbers.

    Attributes:
        kind: The distribution: ``"uniform"`` over ``[first, second)``, or ``"normal"`` with these moments.
        first: The lower bound, or the mean.
        second: The upper bound, or the standard deviation.
    """

    kind: Literal["uniform", "normal"]
    first: float
    second: float

    @property
    def offset(self) -> float:
        """The largest number that is added to draws around zero; the rounding of that sum is tolerated."""
        return abs(self.first) if self.kind == "normal" else max(abs(self.first), abs(self.second))

    def numbers(self, shape: Sequence[int], seed: int, dtype: torch.dtype, device: str, earlier: int = 0) -> Tensor:
        """The draw in that dtype, after so many numbers of an earlier one."""
        source = torch.Generator(device).manual_seed(seed)
        out = torch.empty(shape, dtype=dtype, device=device)
        fill = out.normal_ if self.kind == "normal" else out.uniform_
        torch.rand(earlier, generator=source, device=device)
        return fill(self.first, self.second, generator=source)


@kept
def told_draw(value: Tensor, wrong: Tensor, law: Draw, other: Draw, seed: int, device: str) -> tuple[Message, ...]:
    """What wrong random numbers are.

    Args:
        value: All numbers of the parameter, on the CPU.
        wrong: Which of them are wrong.
        law: The distribution that was asked for.
        other: Another distribution, which may have been drawn from instead.
        seed: The seed that was given.
        device: Where the numbers are drawn.
    """
    dtype, value = value.dtype, value.double()
    right = law.numbers(value.shape, seed, torch.float32, device).cpu().double()
    if law.second and (look := own_look(value[wrong])):
        at = value[wrong][0]
        clamped = not wrong.all() and any(torch.equal(beyond, wrong) for beyond in (right > at, right < at))
        return (BOUNDED if clamped else look,)
    moments = {"mean": in_two_decimals(float(value.mean())), "std": in_two_decimals(float(value.std()))}
    others = (UNKNOWN, say("their mean is {mean}, their standard deviation {std}", **moments))
    if law.kind == "normal" and not law.second:  # every seed gives the same
        default = replace(law, second=1.0).numbers(value.shape, seed, torch.float32, device).to(dtype).cpu().double()
        unheard = _fitted(value, default) and float((value - default).abs().max()) < STATED
        return (ZERO_UNHEARD,) if unheard else others[1:]
    if told := _partly(value, wrong, right, law):
        return (told,)
    for numbers, what in _candidates(value.shape, law, other, seed, dtype, device):
        if fitted := _fitted(value, numbers):
            stretched = [] if what == OTHER_KIND.filled(kind=other.kind) else _stretched(law, *fitted)
            if what == ANOTHER_SCALE:
                rounded = say("they are the right random numbers, rounded")
                what = MIRRORED if fitted[0] < 0 else what if stretched else rounded
            return (what, *stretched)
    return others


def told_seeds(values: Sequence[Tensor], law: Draw, base: int, device: str) -> Message | None:
    """Which seed each rank draws its rows with, or a whole table; where all are right, with which deviation.

    None if some rank's is unknown, or all is right.

    Args:
        values: What the ranks from 0 on hold.
        law: The distribution that was asked for.
        base: The seed that rank 0 was given.
        device: Where the numbers are drawn.
    """
    if not law.second or len({value.shape for value in values}) > 1:
        return None
    world = len(values)
    products = range(2 * base, (world + 1) * base, base or 1)
    tried = dict.fromkeys((*range(base - NEAR, base + FARTHEST), *SEEDS, *products))
    values = [value.detach().cpu().double() for value in values]

    def fitted(seed: int, rank: int, *, whole: bool = False) -> tuple[float, float] | None:
        shape = (world if whole else 1, *values[rank].shape)
        numbers = law.numbers(shape, seed, torch.float32, device).cpu().double()
        return _fitted(values[rank], numbers[rank if whole else 0])

    right = [base + rank for rank in range(world)]
    for seeds in (right, [base] * world):
        if all(fitted(seed, rank, whole=True) for rank, seed in enumerate(seeds)):
            return say(ROWS_OF_TABLE, world=world, seeds=", ".join(map(str, seeds)))
    found = [next((seed for seed in tried if fitted(seed, rank)), None) for rank in range(world)]
    if found == right:
        factors = [fit[0] for rank, seed in enumerate(right) if (fit := fitted(seed, rank))]
        spreads = ", ".join(in_two_decimals(factor * law.second) for factor in factors)
        alike = all(abs(factor - 1) < STATED for factor in factors)
        return None if alike else say(RANKS_SPREADS, world=world, spreads=spreads)
    if None in found:
        return None
    if len({*found}) == 1:
        return say(ONE_SEED, world=world, seed=str(found[0]))
    return say(RANKS_SEEDS, world=world, seeds=", ".join(map(str, found)))


def _candidates(
    shape: torch.Size, law: Draw, other: Draw, seed: int, dtype: torch.dtype, device: str
) -> Iterator[tuple[Tensor, Message]]:
    """Draws that the numbers may come from, the nearest first."""

    def drawn(seed: int, law: Draw = law, earlier: int = 0) -> Iterator[Tensor]:
        """In float32, and in the parameter's dtype."""
        for kind in dict.fromkeys((torch.float32, dtype)):
            yield law.numbers(shape, seed, kind, device, earlier).cpu().double()

    right, *_ = drawn(seed)
    nearby = [s for s in range(max(seed - NEAR, 0), seed + NEAR + 1) if s != seed]
    yield from ((numbers, ANOTHER_SCALE) for numbers in drawn(seed))
    for narrow in (torch.float64, torch.float16, torch.bfloat16):
        numbers = law.numbers(shape, seed, narrow, device).cpu().double()
        yield numbers, say("they are this seed's numbers for a draw in {dtype}", dtype=name(narrow))
    turned = right.reshape(shape[::-1]).permute(*reversed(range(len(shape))))
    yield turned, OTHER_ORDER
    yield from ((numbers, OTHER_KIND.filled(kind=other.kind)) for numbers in drawn(seed, other))
    for tried in dict.fromkeys((*nearby, *SEEDS)):
        told = say(NEXT_SEED if abs(tried - seed) == 1 else OF_SEED, seed=tried)
        yield from ((numbers, told) for numbers in drawn(tried))
    size = math.prod(shape)
    for start in dict.fromkeys((*nearby, 42, seed)):
        step = 1 if start == seed and size <= LARGEST else size
        for earlier in range(step, EARLIER * size + 1, step):
            told = say(LATER if start == seed else AFTER_DRAWS, seed=start, n=earlier)
            yield from ((numbers, told) for numbers in drawn(start, earlier=earlier))


def _fitted(value: Tensor, numbers: Tensor) -> tuple[float, float] | None:
    """Factor and shift that make the numbers of a draw; None if there are none."""
    x, y = numbers.flatten(), value.flatten()
    x0, y0 = x - x.mean(), y - y.mean()
    along, of_x, of_y = float(x0 @ y0), float(x0 @ x0), float(y0 @ y0)
    if not of_x * of_y or of_y == math.inf or along * along < ALONG**2 * of_x * of_y:
        return None
    factor = along / of_x
    return factor, float(y.mean()) - factor * float(x.mean())


def _stretched(law: Draw, factor: float, shift: float) -> list[Message]:
    """Which range or moments the numbers have, if not those that were asked for."""
    if abs(factor - 1) < STATED and abs(shift) < STATED:
        return []
    if law.kind == "uniform":
        low, high = (in_two_decimals(factor * end + shift) for end in (law.first, law.second))
        return [say("they run from {low} to {high}", low=low, high=high)]
    moments = {"mean": in_two_decimals(factor * law.first + shift), "std": in_two_decimals(abs(factor * law.second))}
    return [say("they have mean {mean} and standard deviation {std}", **moments)]


def _partly(value: Tensor, wrong: Tensor, right: Tensor, law: Draw) -> Message | None:
    """Where only the outermost numbers of a normal draw are wrong: from which deviation on."""
    if law.kind != "normal" or float(wrong.double().mean()) > 1 / 2:
        return None
    out = ((right - law.first) / law.second).abs()
    if float(out[wrong].min()) < float(out[~wrong].max()):
        return None
    bound = f"{float(out[~wrong].max() + out[wrong].min()) / 2:.1f}"
    held = ((value[wrong].double() - law.first) / law.second).abs()
    return say(CLAMPED if bool((held > out[~wrong].max()).all()) else REPLACED, n=bound)
