"""Task 4: how a module's tables are found out from its outputs, and compared.

The ratio that a call has used is found by comparing its output with the contract's tables for a ratio. Where new
modules have other tables, for which ``rope_base`` charges, it is compared with new modules, each built with a ratio and
with so many positions that it need not grow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial, reduce, wraps
from itertools import combinations, permutations
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from grader import testing
from grader.assignment import oracle
from grader.assignment.hidden.checks import succeeds
from grader.assignment.model.normalising import numbers
from grader.assignment.model.rotation import CONTRACT, NAME, Convention, module_student, turned
from grader.testing import (
    ORDER,
    STEPS,
    Crashed,
    Message,
    Reading,
    Student,
    StudentFault,
    StudentModule,
    TimedOut,
    WrongAnswer,
    are_within,
    check_errors,
    error_in_ulp,
    in_two_decimals,
    integers,
    kept,
    listed,
    normal,
    places,
    require,
    say,
    ulp,
)

DIM, MS, BASE = 8, 6, 10000
# Between 3 and 4, and between 7 and 8 times ``MS``: every known rule for the ratio, right or wrong, chooses 4 and 8.
SHORT, MIDDLE, LONG = MS - 1, 3 * MS + 1, 7 * MS + 1
LONGER = 8 * MS + 1  # here rules choose 9, 10 or 16
PLENTY = range(114, 151, 6)  # positions; no case uses more, so a module with as many from the start does not grow
GROWN = (2, 4, 6, 8, 10, 12)  # ratios that the cases about growth ask for
MOST = 18  # of ratios that are told apart in a row
PILED_UP = tuple(4 * 8 * ratio for ratio in (1, 2, 3))  # one growth on top of another, and of the initial ratio
RATIOS_READ = (*range(1, MOST + 1), *PILED_UP)
SAME_LIMIT = 2.0**-11 * 2.0**23  # in ulp of float32; tables of different ratios differ by hundredths
# A float32 angle n * theta has a relative error of a few 2^-24, so its cosine an error of a few 2^-24 (1 + n * theta).
TABLE_LIMIT = 32.0
TABLE_UNIT = 2.0**-24
SPEED = 0.02  # relative, and of a radian: a bfloat16 table tells an angle better than that
HELD_BY_ALL = 200  # positions that are bfloat16 numbers, as all up to 256 are
NEAR = 2.0**-7  # of a radian: by chance, no other of some thousand positions comes so near in all pairs
# One of these charges for how a vector is turned; for what a module does within its tables; beyond them; afterwards.
OTHERS = ("rotary_pairing_and_sign", "rotary_dtype", "rotary_broadcast")
TURNED = (*OTHERS, "rope_base", "rope_boundary")
GREW = (*TURNED, "rope_smallest_even_ratio")
GROWTH = ("rope_smallest_even_ratio", "rope_static", "rope_dynamic")
KEPT = (*TURNED, *GROWTH)
CALL = "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s}, [position, feature]"
CALL_AFTER = (
    "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s} after s = {when}, "
    "[position, feature]"
)
TABLES = say("cosines and sines for {what}, [position, feature]")
QUARTER = say("position 0 is rotated by a quarter turn: sines in place of cosines")
TURNED_ALREADY = say("position 0 is already rotated")
TIMES_ONE_FACTOR = "cosines and sines are multiplied by {factor}: the squares of the two no longer add up to 1"
INTERLEAVED = say("the angle of each pair is at two neighbouring columns, not at the same column of both halves")
ALONE_RIGHT = "after s = {s} alone it is right"
SWITCHED = say("without train() and eval() between these calls it is right")
HEADS_TAKEN = say("as many rows of the tables are used as there are heads, not positions")
IN_PARTS = "from position to position, they are the tables of other ratios: {parts}"
LAST_ROWS = say("a call uses the last rows of the tables, not the first")
SPEEDS = "pair by pair, the angles are {factors} times the expected values"
SHIFTED = "position {here} is rotated as position {n} should be, position {next} as position {following}"
TAKEN_FOR = "position {here} is rotated as position {n} should be"
ALIKE_FROM = "all positions from {n} on are rotated alike"
OF_RATIO = "they are the tables of ratio {k}"
ROUNDED = "they are those of {what} rounded to {dtype}"
OF_BASE = "they are the tables of base {base}"
SIZES = "dim={dim}, max_seq_len={max_seq_len}, base={base}, ratio={ratio}, s = {s}"
SIZES_DTYPE = (
    "dim={dim}, max_seq_len={max_seq_len}, base={base}, ratio={ratio}, dynamic={dynamic}, dtype={dtype}, s = {s}"
)
MORE_DIGITS = "with dtype={dtype}, cosines and sines have more digits than {dtype} holds"
MORE_DIGITS_GROWN = "with dtype={dtype}, cosines and sines grown to s = {s} have more digits than {dtype} holds"
CONVERTED = "a float32 call with s = {s} converts the buffers from {dtype} to float32, and leaves them so"
SOME_PAIRS = "of the pairs 0–{last}, only these are wrong: {pairs}"
BY_HALVES = "in the first half of the positions {early} pairs are wrong, in the second {late}"
DRIFT = "where they are wrong, the squares of the two do not add up to 1, by up to {worst} rounding steps"
FEW_ROWS = "with ratio={ratio}, the tables have {n} rows, too few for s = {s}"
OF_TWO_RATIOS = "the cosines are those of ratio {cosines}, the sines those of ratio {sines}"
OF_NO_RATIO = "they match the tables of no integer ratio from 1 to {k}"
PAIRS_TOLD = 4
MOST_PARTS = 4  # that a message lists
STEPS_ROUNDED = (say("positions"), say("frequencies"), say("angles"))
MOSTLY = 0.98  # of all elements
FEW_NUMBERS = "the registered buffers hold {n} numbers, too few for {length} positions"
AS_BUILT = say("that is what the module was built with: growth is not kept")
UNGROWN = "after calls with s = {lengths}, the tables have fewer than {n} positions: growth is not kept"
UNSEEN = say("the tables are the same for all ratios, so this property cannot be checked")


@dataclass(frozen=True)
class Asking(Reading):
    """How a submission's modules have to be called, so that one mistake does not hide what else they do.

    Attributes:
        several: Whether they refuse one batch row with one head: then inputs have two of each.
        by_heads: Whether they take the number of heads for the length: then inputs have as many heads as positions.
        in_full: Whether they make new tables for any sequence shorter than the tables: then inputs have full length.
        interleaved: Whether their tables are laid out for pairs of neighbours, as their rotation is.
        own: Whether new modules have other tables than the contract's, so that calls are compared with new modules.
        sized: Whether these tables depend on how many positions there are: then only modules with as many are alike.
        short: Whether a call has more positions than the tables that it uses: then these are judged, as far as they go.
        at_end: Whether a call uses the last rows of its tables: then outputs are compared from their ends.
        mode: The mode, training or evaluation, that shows the tables, if the other one gives something else.
    """

    CHARGED_TO: ClassVar = {
        "several": ("rope_boundary",),
        "by_heads": ("rope_base",),
        "in_full": ("rope_boundary",),
        "interleaved": ("rotary_pairing_and_sign",),
        "own": ("rope_base", "rope_exact_angles"),
        "sized": ("rope_base",),
        "short": ("rope_boundary", "rope_smallest_even_ratio"),
        "at_end": ("rope_base",),
        "mode": ("rope_buffers",),
    }

    several: bool = False
    by_heads: bool = False
    in_full: bool = False
    interleaved: bool = False
    own: bool = False
    sized: bool = False
    short: bool = False
    at_end: bool = False
    mode: bool | None = None


BY_CONTRACT = Asking()


class Ropes:
    """Builds and calls small modules of one submission: 8 features, ``max_seq_len`` 8, no argument left to its default.

    Args:
        student: The submission.
        device: The device of tables and inputs.
        asking: How its modules have to be called; found out, if it is not given.
        by_contract: Whether the rotation is the contract's; found out, if not.
    """

    def __init__(
        self, student: Student, device: str, asking: Asking | None = None, *, by_contract: bool = False
    ) -> None:
        """Choose the rotation with which the module is judged."""
        self.device, self.seed, self.is_by_contract = device, student.seed, by_contract
        self.base, self.dtype = BASE, torch.float32
        self.asking = student.reading(read_asking) if asking is None else asking
        self.student, self.convention = (student, CONTRACT) if by_contract else module_student(student)
        if self.asking.short:
            self.student = student.with_stand_in(NAME)
        self.is_recorded = self.student is not student
        self._judged = student
        self._shown: dict[int, Tensor] = {}
        # [hd], the same at every position, so that the output shows the angles.
        self.vector = normal(self.seed, "rope", shape=(DIM,)) + 2
        self._scale = self.vector.double().norm()
        self._of_ratio: dict[tuple[int, int], Tensor] = {}
        self._plenty = PLENTY[int(integers(self.seed, "plenty", shape=(1,), low=0, high=len(PLENTY)))]

    def excuse(self, fault: StudentFault, charges: tuple[str, ...]) -> None:
        """Pass over a fault in this case, as long as one of these properties has lost its points."""
        self._judged.excuse(fault, charges)

    def new(
        self,
        ratio: int = 1,
        *,
        dynamic: bool = False,
        longest: int = MS,
        dtype: torch.dtype | None = None,
        training: bool | None = None,
    ) -> StudentModule:
        """A new module, in the mode that it is in once constructed, or in training or evaluation."""
        options = {"base": self.base, "ratio": ratio, "dynamic": dynamic, "dtype": dtype or self.dtype}
        module = self.made(dim=DIM, max_seq_len=longest, **options, device=self.device)
        return module if training is None or self.asking.mode is not None else module.train(training)

    def made(self, **options: Any) -> StudentModule:
        """A new module with these arguments; in the mode that shows its tables, if one of the two does not."""
        module = self.student.NTKAwareRoPE(**options)
        return module if self.asking.mode is None else module.train(self.asking.mode)

    def in_mode(self, training: bool) -> Ropes:
        """The same, whose modules are called in one mode only."""
        return Ropes(self._judged, self.device, replace(self.asking, mode=training))

    def of_tables(self, base: int, dtype: torch.dtype) -> Ropes:
        """The same by the contract, with modules of another base and dtype."""
        other = Ropes(self._judged, self.device, BY_CONTRACT, by_contract=True)
        other.base, other.dtype = base, dtype
        return other

    def input(self, length: int, vector: Tensor | None = None) -> Tensor:
        """One vector at so many positions: ``[1, s, 1, hd]``, or of as many rows and heads as the module asks for."""
        vector, several = self.vector if vector is None else vector, 1 + self.asking.several
        heads = length if self.asking.by_heads and vector is self.vector else several
        return vector.expand(several, length, heads, -1).contiguous().to(self.device)

    def called(self, module: StudentModule, x: Tensor) -> Tensor:
        """The output for ``x``, float64, in its shape."""
        if not self.is_recorded:
            return numbers(module(x.to(self.device)), x.shape)
        output = turned(module, x, self.device, self.convention, short=self.asking.short)
        if self.asking.short and output.dim() == x.dim():
            x = x[:, : output.shape[1]]
        return numbers(output, x.shape)

    def own(self) -> Ropes:
        """The same with the submission's own rotation, whatever that does."""
        return Ropes(self._judged, self.device, replace(self.asking, short=False), by_contract=True)

    def turn(self, module: StudentModule, length: int) -> Tensor:
        """``[s, hd]``: the output of a call with so many positions, float64."""
        return self.called(module, self.input(length))[0, :, 0]

    def of_ratio(self, ratio: int, length: int) -> Tensor:
        """``[s, hd]``: the tables of a ratio, at work: the contract's, or those of new modules where these differ."""
        return self.of_new(ratio, length) if self.asking.own else self.by_contract(ratio, length)

    def of_new(self, ratio: int, length: int) -> Tensor:
        """``[s, hd]``: what a new module with that ratio gives, which need not grow."""
        if (ratio, length) not in self._of_ratio:
            asked = ratio * self._plenty if self.asking.in_full else length
            longest, asked = (MS, min(length, MS - 1)) if self.asking.sized else (self._plenty, asked)
            self._of_ratio[ratio, length] = self.turn(self.new(ratio, longest=longest), asked)[:length]
        return self._of_ratio[ratio, length]

    def first(self, ratio: int, length: int, *, dynamic: bool, training: bool) -> Tensor:
        """``[s, hd]``: what the first call of a new module gives."""
        return self.turn(self.new(ratio, dynamic=dynamic, training=training), length)

    def by_contract(self, ratio: float, length: int, sines: float | None = None) -> Tensor:
        """``[s, hd]``: the output with the contract's angles; perhaps with the sines of another ratio."""
        return self.rotated(self.vector.expand(1, length, 1, DIM), ratio, sines)[0, :, 0]

    def rotated(self, x: Tensor, ratio: float, sines: float | None = None) -> Tensor:
        """``x: [b, s, nh, hd]``, turned by the contract's tables for a ratio; perhaps with the sines of another."""
        return _by_contract(self.convention, x, ratio, sines or ratio, self.base, self.asking.interleaved)

    def same(self, actual: Tensor, expected: Tensor) -> bool:
        """Whether two outputs agree at the positions that both have."""
        return are_within(self._compared(actual, expected)[0], SAME_LIMIT)

    def check(self, actual: Tensor, expected: Tensor, what: Message, *, but_last: bool = False) -> None:
        """Require two outputs to agree where both have positions; the message says which ratio's tables were used.

        With ``but_last``, the last position counts as the one before it does.
        """
        errors, actual, expected = self._compared(actual, expected)
        if but_last:
            errors[-1] = errors[-2]
        try:
            check_errors(errors, SAME_LIMIT, what, actual, expected, self._scale)
        except WrongAnswer as fault:
            told = partial(self.told_ratio, actual)  # in words only if it counts, unless new modules have to be asked
            raise fault.with_more(told() if self.asking.own else told, partial(told_end, actual)) from None

    def ratios_of(self, turned: Tensor) -> list[float]:
        """The ratios whose new modules turn alike: one, where ratios show in the tables. A fraction is that of s.

        A large fraction cannot be told from the whole numbers about it, so it is none of them.
        """
        if not self._shown:
            self._shown.update({ratio: self.of_ratio(ratio, MS - 1) for ratio in RATIOS_READ})
        found: list[float] = [ratio for ratio, tables in self._shown.items() if self.same(turned, tables)]
        exact = len(turned) / MS
        return found or [exact] * (1 < exact <= MOST and self.same(turned, self.by_contract(exact, MS - 1)))

    def told_ratio(self, turned: Tensor) -> Message | None:
        """Which ratio's tables were used, for messages; None where the tables do not show it."""
        try:
            ratios = self.ratios_of(turned)
            parts = self._told_parts(turned) if len(ratios) == 1 and ratios[0] in RATIOS_READ else None
        except StudentFault:
            return None
        if not ratios:
            mixed = self._told_start(turned) or (None if self.asking.own else self._told_mixed(turned))
            return mixed or say(OF_NO_RATIO, k=MOST)
        return parts or (say(OF_RATIO, k=shown_ratio(ratios[0])) if len(ratios) == 1 else None)

    def _told_parts(self, turned: Tensor) -> Message | None:
        """Which positions are turned by which ratio's tables, for messages, if there are several."""
        tables = {ratio: self.of_ratio(ratio, len(turned)) for ratio in RATIOS_READ}
        right = {k: (self._compared(turned, table)[0] <= SAME_LIMIT).all(-1) for k, table in tables.items()}
        parts: list[str] = []
        start, end = 0, len(turned)
        while start < end and len(parts) < MOST_PARTS:
            runs = {k: int(one[start:].int().cumprod(0).sum()) for k, one in right.items()}
            ratio = max(runs, key=runs.__getitem__)
            if not runs[ratio]:
                return None
            parts.append(f"{start}–{start + runs[ratio] - 1}: {ratio}")
            start += runs[ratio]
        return say(IN_PARTS, parts=", ".join(parts)) if start == end and len(parts) > 1 else None

    def _told_mixed(self, turned: Tensor) -> Message | None:
        """Which ratios' cosines and sines were used, for messages, if these are two ratios."""
        for cosines, sines in permutations(RATIOS_READ, 2):
            if self.same(turned, self.by_contract(cosines, len(turned), sines)):
                return say(OF_TWO_RATIOS, cosines=cosines, sines=sines)
        return None

    def _told_start(self, turned: Tensor) -> Message | None:
        """Which position the first vector was taken for, if any but 0, for messages; ``turned: [s, hd]``."""
        if self.same(turned[:1], self.by_contract(1, 1)):
            return None
        for ratio in RATIOS_READ:
            tables = self.by_contract(ratio, MOST * MS)
            near = error_in_ulp(turned[:1], tables, self._scale, torch.float32).amax(-1) <= SAME_LIMIT
            for first in near.nonzero().flatten().tolist():
                if 0 < first <= len(tables) - len(turned) and self.same(turned, tables[first : first + len(turned)]):
                    if len(turned) == 1:
                        return say(TAKEN_FOR, here=0, n=first)
                    return say(SHIFTED, here=0, n=first, next=1, following=first + 1)
        start, own = turned[0], self.by_contract(1, 1)[0]
        factor = float(start @ own / own.square().sum())
        if self.same(start, factor * own):
            return say(TIMES_ONE_FACTOR, factor=in_two_decimals(factor))
        return TURNED_ALREADY

    def _compared(self, *outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Errors in ulp at the positions that both outputs have, and the outputs there."""
        length, ends = min(map(len, outputs)), self.asking.at_end
        actual, expected = (output[len(output) - length if ends else 0 :][:length] for output in outputs)
        return error_in_ulp(actual, expected, self._scale, torch.float32), actual, expected

    def positions_held(self, module: StudentModule) -> float:
        """How many positions buffers and parameters hold, relative to a new module; without any, plain attributes."""
        first = self.new(1)
        in_new, in_this = (sum(table.value.numel() for table in m.buffers() + m.parameters()) for m in (first, module))
        if not in_new:
            plain = module.held(*(ratio * MS * DIM for ratio in RATIOS_READ))
            return 0.0 if plain is None else plain.numel() / DIM
        return MS * in_this / in_new


@kept
def _by_contract(
    convention: Convention, x: Tensor, cosines: float, sines: float, base: int, interleaved: bool
) -> Tensor:
    both = (oracle.ntk_angles(DIM, base, ratio, x.shape[1]) for ratio in (cosines, sines))
    cos, sin = (one.repeat_interleave(2, dim=-1) if interleaved else one.repeat(1, 2) for one in both)
    return convention.rotate(x, cos.cos(), sin.sin())


def read_asking(student: Student) -> Asking:
    """Find out how the modules of a submission have to be called."""

    def ropes(asking: Asking) -> Ropes:
        return Ropes(student, "cpu", asking)

    def answers(asking: Asking) -> bool:
        """Whether a call within the tables gives an output, if called in this way."""
        return succeeds(lambda: ropes(asking).turn(ropes(asking).new(), MS - 1))

    def alike(asking: Asking) -> bool:
        """Whether all positions are turned alike, if called in this way."""
        first = ropes(asking).turn(ropes(asking).new(), MS - 1)
        return ropes(asking).same(first[:1], first[1:2])

    def blind(asking: Asking) -> bool:
        """Whether two ratios are turned alike."""
        return ropes(asking).same(ropes(asking).of_new(2, MS - 1), ropes(asking).of_new(4, MS - 1))

    def own(asking: Asking) -> bool:
        """Whether a new module gives something else than the contract's tables."""
        asked, length = ropes(asking), max(GROWN) * MS
        return not all(asked.same(asked.of_new(k, length), asked.by_contract(k, length)) for k in (1, *GROWN))

    def sized(asking: Asking) -> bool:
        """Whether tables of other lengths have other angles."""
        few, many = ropes(replace(asking, sized=True)), ropes(asking)
        return not many.same(few.of_new(2, MS - 1), many.of_new(2, MS - 1))

    def short(asking: Asking) -> bool:
        """Whether a call crashes whose tables have too few positions."""
        for ratio, length in ((1, MS), (1, 2 * MS), (1, 3 * MS + 1), (2, 5 * MS)):
            try:
                ropes(asking).turn(ropes(asking).new(ratio), length)
            except (Crashed, WrongAnswer):
                cut = ropes(replace(asking, short=True))
                with suppress(StudentFault):  # the module itself crashes, whatever the rotation does
                    return len(cut.turn(cut.new(ratio), length)) < length
        return False

    def at_end(asking: Asking) -> bool:
        """Whether a shorter call gives the last rows of a longer one."""
        few, many = (ropes(asking).turn(ropes(asking).new(2), length) for length in (MS - 1, 2 * MS))
        return not ropes(asking).same(few, many) and ropes(asking).same(few, many[1 - MS :])

    def mode(asking: Asking) -> bool | None:
        """Which mode shows the tables, if both give something, and not the same."""
        trained, evaluated = (one.turn(one.new(), MS - 1) for one in map(ropes(asking).in_mode, (True, False)))
        alike = ropes(asking).same(trained, evaluated)
        return None if alike else ropes(asking).same(trained, ropes(asking).by_contract(1, MS - 1))

    try:
        asking = Asking(several=not answers(Asking()) and answers(Asking(several=True)))
        with suppress(StudentFault):
            asking = replace(asking, mode=mode(asking))
        if alike(asking):
            asking = replace(asking, by_heads=not alike(replace(asking, by_heads=True)))
        else:
            asking = replace(asking, in_full=blind(asking) and not blind(replace(asking, in_full=True)))
        if ropes(asking).convention.neighbours and not own(interleaved := replace(asking, interleaved=True)):
            return interleaved
        asking = replace(asking, short=short(asking))
        asking = replace(asking, own=own(asking))
        asking = replace(asking, at_end=asking.own and at_end(asking))
        return replace(asking, sized=asking.own and not asking.in_full and sized(asking))
    except StudentFault:
        return Asking()


def contract_first(*charged_to: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Judge a case by the contract, and if it fails, by what the submission does; see :mod:`grader.core.judge.excuses`.

    Args:
        charged_to: The properties of which one charges for the difference, if no reading shows any.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        parameters = list(inspect.signature(check).parameters.values())[1:]
        places = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("student", "device")]

        def by_contract(student: Student, device: str, **arguments: Any) -> None:
            check(Ropes(student, device, BY_CONTRACT, by_contract=True), **arguments)

        @wraps(check)
        def test(student: Student, device: str, **arguments: Any) -> None:
            check(Ropes(student, device), **arguments)

        signature = inspect.Signature([*places, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters)])
        by_contract.__signature__ = test.__signature__ = signature  # type: ignore[attr-defined] # what pytest reads
        return testing.contract_first(by_contract, *charged_to)(test)

    return decorate


_ENDLESS: WeakKeyDictionary[Student, set[bool]] = WeakKeyDictionary()  # modules, by dynamic, whose growth never ends


@contextmanager
def growing(student: Student, *, dynamic: bool) -> Iterator[None]:
    """Around growth in a case about something else: growth that never ends is charged where growth is asked for.

    It is waited for once; what else the property asks for is asked of the submission afresh.

    Raises:
        TimedOut: At once, if such a module has given no answer before.
    """
    endless = _ENDLESS.setdefault(student, set())
    if dynamic in endless:
        raise TimedOut(say("growth timed out"))
    try:
        yield
    except TimedOut:
        endless.add(dynamic)
        student.start_afresh()
        raise


def shown_ratio(ratio: float) -> int | str:
    """A ratio in a message."""
    return int(ratio) if ratio == int(ratio) else in_two_decimals(ratio)


def construct(student: Student, device: str, ratio: int = 1, *, dynamic: bool = False) -> StudentModule:
    """A small module with the student's own rotation, for cases that compare it with itself on another device."""
    return student.NTKAwareRoPE(dim=DIM, max_seq_len=MS, ratio=ratio, dynamic=dynamic, device=device)


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


def tables_shown(ropes: Ropes, module: StudentModule, length: int, dim: int) -> Tensor:
    """``[s, hd]``: cosines, then sines, that a call of that length turns by."""
    probe = ropes.input(length, ropes.convention.probe(dim))
    return torch.cat(ropes.convention.read(ropes.called(module, probe)[0, :, 0]), dim=-1)


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
        factors = [*map(in_two_decimals, quotients[:PAIRS_TOLD])]
        off = any(abs(quotient - 1) > SPEED for quotient in quotients) and {*factors} != {in_two_decimals(1.0)}
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
