"""Task 4: small modules of one submission, how they have to be asked, and which ratio's tables they turn by.

The ratio that a call has used is found by comparing its output with the contract's tables for a ratio. Where new
modules have other tables, for which ``rope_base`` charges, it is compared with new modules, each built with a ratio and
with so many positions that it need not grow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import pytest
import torch
from torch import Tensor

from grader import testing
from grader.assignment import oracle
from grader.assignment.hidden.conditions import right_alone, succeeds
from grader.assignment.model.outputs import numbers
from grader.assignment.model.rotation import CONTRACT, NAME, Convention, module_student, turned
from grader.testing import (
    ALONE,
    Crashed,
    Reading,
    Student,
    StudentFault,
    StudentModule,
    TimedOut,
    WrongAnswer,
    are_within,
    error_in_ulp,
    integers,
    kept,
    normal,
    say,
)

DIM, MS, BASE = 8, 6, 10000
# Between 3 and 4, and between 7 and 8 times ``MS``: every known rule for the ratio, right or wrong, chooses 4 and 8.
SHORT, MIDDLE, LONG = MS - 1, 3 * MS + 1, 7 * MS + 1
PLENTY = range(114, 151, 6)  # positions; no case uses more, so a module with as many from the start does not grow
GROWN = (2, 4, 6, 8, 10, 12)  # ratios that the cases about growth ask for
MOST = 18  # of ratios that are told apart in a row
PILED_UP = tuple(4 * 8 * ratio for ratio in (1, 2, 3))  # one growth on top of another, and of the initial ratio
RATIOS_READ = (*range(1, MOST + 1), *PILED_UP)
kinds = pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
SAME_LIMIT = 2.0**-11 * 2.0**23  # in ulp of float32; tables of different ratios differ by hundredths
# One of these charges for how a vector is turned; for what a module does within its tables; beyond them; afterwards.
OTHERS = ("rotary_pairing_and_sign", "rotary_dtype", "rotary_broadcast")
TURNED = (*OTHERS, "rope_base", "rope_boundary")
GREW = (*TURNED, "rope_smallest_even_ratio")
GROWTH = ("rope_smallest_even_ratio", "rope_static", "rope_dynamic")
KEPT = (*TURNED, *GROWTH)


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
        asking: How its modules have to be called; if it is not given, by the contract, or found out.
        by_contract: Whether the rotation is the contract's; found out, if not.
    """

    def __init__(
        self, student: Student, device: str, asking: Asking | None = None, *, by_contract: bool = False
    ) -> None:
        """Choose the rotation with which the module is judged."""
        self.device, self.seed, self.is_by_contract = device, student.seed, by_contract
        self.base, self.dtype = BASE, torch.float32
        self.asking = asking or (BY_CONTRACT if by_contract else student.reading(read_asking))
        self.student, self.convention = (student, CONTRACT) if by_contract else module_student(student)
        if self.asking.short:
            self.student = student.with_stand_in(NAME)
        self.is_recorded = self.student is not student
        self._judged = student
        self._shown: dict[int, Tensor] = {}
        # [hd], the same at every position, so that the output shows the angles.
        self.vector = normal(self.seed, "rope", shape=(DIM,)) + 2
        self.scale = self.vector.double().norm()
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
        other = Ropes(self._judged, self.device, by_contract=True)
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

    def among(self, ratio: int, *, dynamic: bool, training: bool, beside: bool) -> tuple[StudentModule, ...]:
        """A new module; with ``beside``, also an equal one that was built before it, and an unlike one after it."""
        built = [self.new(ratio, dynamic=dynamic, training=training) for _ in range(1 + beside)]
        return (*reversed(built), *(self.new(ratio + 1, dynamic=not dynamic) for _ in range(beside)))

    def first(self, ratio: int, length: int, *, dynamic: bool, training: bool, beside: bool = False) -> Tensor:
        """``[s, hd]``: what the first call of a new module gives, perhaps ``beside`` others."""
        alive = self.among(ratio, dynamic=dynamic, training=training, beside=beside)
        return self.turn(alive[0], length)

    def by_contract(self, ratio: float, length: int, sines: float | None = None) -> Tensor:
        """``[s, hd]``: the output with the contract's angles; perhaps with the sines of another ratio."""
        return self.rotated(self.vector.expand(1, length, 1, DIM), ratio, sines)[0, :, 0]

    def rotated(self, x: Tensor, ratio: float, sines: float | None = None) -> Tensor:
        """``x: [b, s, nh, hd]``, turned by the contract's tables for a ratio; perhaps with the sines of another."""
        return _by_contract(self.convention, x, ratio, sines or ratio, self.base, self.asking.interleaved)

    def same(self, actual: Tensor, expected: Tensor) -> bool:
        """Whether two outputs agree at the positions that both have."""
        return are_within(self.compared(actual, expected)[0], SAME_LIMIT)

    def ratios_of(self, turned: Tensor) -> list[float]:
        """The ratios whose new modules turn alike: one, where ratios show in the tables. A fraction is that of s.

        A large fraction cannot be told from the whole numbers about it, so it is none of them.
        """
        if not self._shown:
            self._shown.update({ratio: self.of_ratio(ratio, MS - 1) for ratio in RATIOS_READ})
        found: list[float] = [ratio for ratio, tables in self._shown.items() if self.same(turned, tables)]
        exact = len(turned) / MS
        return found or [exact] * (1 < exact <= MOST and self.same(turned, self.by_contract(exact, MS - 1)))

    def compared(self, *outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Errors in ulp at the positions that both outputs have, and the outputs there."""
        length, ends = min(map(len, outputs)), self.asking.at_end
        actual, expected = (output[len(output) - length if ends else 0 :][:length] for output in outputs)
        return error_in_ulp(actual, expected, self.scale, torch.float32), actual, expected

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
        for ratio, length in ((1, MS), (1, 2 * MS), (2, 5 * MS), *((1, n * MS + 1) for n in (4, 8, 130))):
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
            check(Ropes(student, device, by_contract=True), **arguments)

        @wraps(check)
        def test(student: Student, device: str, **arguments: Any) -> None:
            check(Ropes(student, device), **arguments)

        signature = inspect.Signature([*places, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters)])
        by_contract.__signature__ = test.__signature__ = signature  # type: ignore[attr-defined] # what pytest reads
        return testing.contract_first(by_contract, *charged_to)(test)

    return decorate


def check_alone_too(ropes: Ropes, check: Callable[[], None]) -> None:
    """Check modules beside those of other cases; for what these change by what they share, other properties charge."""
    try:
        check()
    except WrongAnswer as fault:
        if not right_alone(ropes.student, check):
            raise
        ropes.excuse(fault.with_more(ALONE), ("rope_base", "rope_buffers"))


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


def construct(student: Student, device: str, ratio: int = 1, *, dynamic: bool = False) -> StudentModule:
    """A small module with the student's own rotation, for cases that compare it with itself on another device."""
    return student.NTKAwareRoPE(dim=DIM, max_seq_len=MS, ratio=ratio, dynamic=dynamic, device=device)
