"""apply_rotary_pos_emb, recognised by how it turns one vector: which features form a pair, and in which direction.

If a student's rotation is too broken for the module that uses it, a stand-in records what the module passes on to it,
and the judge rotates that. So function and module are each charged for their own mistakes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Final

import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.model.outputs import numbers, refused
from grader.testing import (
    Reading,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_equal,
    generator,
    kept,
    require,
    say,
)

SAME: Final = 2.0**-6  # of a pair's length: conventions differ by tenths, arithmetic in bfloat16 by less than this
EXACT: Final = 2.0**-19  # of a pair's length: more than float32's rounding
NOTHING: Final = say("the output does not depend on the angle: nothing rotates, so this property cannot be checked")
NAME: Final = "apply_rotary_pos_emb"
ONE: Final = (1, 1, 1)  # one row, one position, one head, so that broadcasting does not matter
SEVERAL: Final = (2, 3, 4)
NARROW: Final = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Convention:
    """A way of pairing features and turning them.

    Attributes:
        name: The id of the misconception; empty for the contract's.
        neighbours: Whether x_0 is paired with x_1, and not with x_{hd/2}.
        sign: -1 if it turns the other way.
        swapped: Whether cosine and sine are exchanged.
        by_pair: Whether the i-th pair uses the i-th column of a table, rather than the columns of its features.
        left: A dimension of ``[b, s, nh]``, the place in it whose vectors are left out, and 1 if these stay as they
            were, 0 if they are zero; None if all vectors are turned.
    """

    name: str = ""
    neighbours: bool = False
    sign: int = 1
    swapped: bool = False
    by_pair: bool = False
    left: tuple[int, int, int] | None = None

    def order(self, dim: int) -> Tensor:
        """``[hd]``: the features' indices, the first feature of each pair, then the second of each."""
        features = torch.arange(dim)
        return torch.cat((features[0::2], features[1::2])) if self.neighbours else features

    @kept
    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate ``x: [b, s, nh, hd]`` by tables ``[s, hd]``, in float64; differentiable."""
        cos, sin = (sin, cos) if self.swapped else (cos, sin)
        order = self.order(x.shape[-1])
        columns = torch.arange(x.shape[-1] // 2).repeat(2) if self.by_pair else order
        turned = oracle.rotate(x[..., order], cos[:, columns], self.sign * sin[:, columns])[..., order.argsort()]
        if self.left is not None:
            dimension, place, factor = self.left
            turned.select(dimension, place).copy_(factor * x.select(dimension, place))
        return turned

    def probe(self, dim: int) -> Tensor:
        """``[hd]``: an input whose rotation shows cosines and sines: one for the first of each pair, else zero."""
        vector = torch.zeros(dim)
        vector[self.order(dim)[: dim // 2]] = 1
        return vector

    def read(self, output: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines ``[..., hd/2]`` from the rotated probe."""
        cos, sin = output[..., self.order(output.shape[-1])].chunk(2, dim=-1)
        return (sin, cos) if self.swapped else (cos, self.sign * sin)

    def pairs_read(self, dim: int) -> list[tuple[Tensor, Tensor]]:
        """For each layout of the tables, the pairs whose cosine and whose sine turn the i-th pair."""
        pairs = torch.arange(dim // 2)
        # Neighbours, turned by tables that are laid out for halves.
        mixed = (2 * pairs % (dim // 2), (2 * pairs + 1) % (dim // 2))
        return [(pairs, pairs), mixed] if self.neighbours else [(pairs, pairs)]


CONTRACT: Final = Convention()
CONVENTIONS: Final = (
    CONTRACT,
    Convention("rotary_opposite_angle", sign=-1),
    Convention("rotary_swapped_tables", swapped=True),
    Convention("rotary_adjacent_pairs", neighbours=True),
    Convention("rotary_adjacent_pairs", neighbours=True, by_pair=True),
)
LEAVING: Final = tuple(Convention(left=left) for left in product(range(3), (-1, 0), (1, 0)))


@kept
def turning_scale(x: Tensor) -> Tensor:
    """The length of the longest pair that an element can belong to, by halves or by neighbours, float64."""
    neighbours = x.double().unflatten(-1, (-1, 2)).norm(dim=-1).repeat_interleave(2, dim=-1)
    return torch.maximum(oracle.pair_norm(x), neighbours)


@dataclass(frozen=True)
class Rotation(Reading):
    """What a submission's apply_rotary_pos_emb does.

    Attributes:
        convention: How it turns one vector; None if no convention fits.
        turns: Whether the output depends on the angle; if not, nothing else can be judged.
        exact: Whether float32 outputs follow the convention to float32's accuracy.
        carries: Whether a module can be judged with it: it also broadcasts, takes all dtypes, and is pure.
        turns_one_head: Whether a module's float32 outputs for single heads can be judged with it.
        refused: The pairs of dtypes, of input and tables, for which a call crashes.
        shape: How many rows, positions and heads show all this: one of each, or several, if only these are turned.
        remembers: Whether later calls turn by the tables of earlier ones: then each is asked for in a new worker.
        fault: Why nothing could be found out, such as a missing file or an exception; None otherwise.
    """

    CHARGED_TO: ClassVar = {
        "convention": ("rotary_pairing_and_sign",),
        "exact": ("rotary_dtype", "rotary_pairing_and_sign"),
        "carries": ("rotary_pairing_and_sign", "rotary_broadcast", "rotary_dtype", "rotary_backward", "rotary_purity"),
        "refused": ("rotary_dtype",),
        "shape": ("rotary_broadcast", "rotary_pairing_and_sign"),
        "remembers": ("rotary_pairing_and_sign",),
    }

    convention: Convention | None = CONTRACT
    turns: bool = True
    exact: bool = True
    carries: bool = True
    turns_one_head: bool = True
    refused: frozenset[tuple[torch.dtype, torch.dtype]] = frozenset()
    shape: tuple[int, int, int] = ONE
    remembers: bool = False
    fault: StudentFault | None = None

    def require_turning(self) -> None:
        """Require that the function turns anything at all."""
        if self.fault is not None:
            raise self.fault
        require(self.turns, NOTHING)


# Of one vector. Pairs have different angles; no 16-bit type holds its numbers exactly.
NUMBERS: Final = torch.tensor([1.0, 2.0, -3.0, 5.0, 7.0, -11.0, 13.0, 17.0]) * 1.1
ANGLES: Final = (0.7, 1.9)
SMALL_ANGLE: Final = 2.0**-12
PAIRS_ASKED: Final = ([*range(8)], [0, 1, 4, 5])  # the features of four pairs, and of two


def vector(seed: int) -> Tensor:
    """``[1, 1, 1, 8]``: these numbers in another order for each seed."""
    return NUMBERS[torch.randperm(8, generator=generator(seed, "rotation"))].reshape(1, 1, 1, 8)


def _table(angle: float, positions: int = 1) -> tuple[Tensor, Tensor]:
    angles = (angle * torch.tensor([1.0, -0.6, 0.4, 3.0] * 2)).expand(positions, 8)
    return angles.cos(), angles.sin()


def _read(student: Student, shape: tuple[int, int, int]) -> Rotation:
    """What a submission does with a vector that fills that shape, or the reason why nothing could be found out."""
    try:
        return _turned(student, shape)
    except StudentFault as fault:
        return Rotation(convention=None, turns=False, exact=False, carries=False, turns_one_head=False, fault=fault)


def _turned(student: Student, shape: tuple[int, int, int]) -> Rotation:
    rotate: Callable[..., Tensor] = student.apply_rotary_pos_emb
    x = vector(student.seed).repeat_interleave(8, -1).expand(*shape, -1).contiguous()  # 64 features: as in real models
    table, turned_further = ([t.repeat_interleave(8, -1) for t in _table(angle, shape[1])] for angle in ANGLES)
    output, other = (numbers(rotate(x, *tables), x.shape) for tables in (table, turned_further))
    known = CONVENTIONS if shape == ONE else (*CONVENTIONS, *LEAVING)
    off = {convention: float((output - convention.rotate(x, *table)).abs().max()) / 30 for convention in known}
    nearest = min(off, key=off.__getitem__)
    convention = nearest if off[nearest] < SAME else None

    def follows(output: Tensor) -> bool:
        return float((output - nearest.rotate(x, *turned_further)).abs().max()) / 30 < SAME

    remembers = False
    if convention is not None and not follows(other):
        student.start_afresh()
        remembers = follows(numbers(rotate(x, *turned_further), x.shape))
        student.start_afresh()
    crashing = refused(lambda dtype, held: rotate(x.to(dtype), *(values.to(held) for values in table)))
    exact = convention is not None and off[nearest] < EXACT
    one_head = exact and shape == ONE and not remembers and _turns_one_head(student, x[..., ::8], nearest)
    return Rotation(
        convention=convention,
        turns=bool(output.any()) and (remembers or not torch.allclose(output, other, rtol=1e-2)),
        exact=exact,
        carries=one_head and not crashing and _carries(student, nearest),
        turns_one_head=one_head and nearest == CONTRACT,
        refused=crashing,
        shape=shape,
        remembers=remembers,
    )


def _turns_one_head(student: Student, vector: Tensor, convention: Convention) -> bool:
    """Whether a head is turned rightly at each of several positions; it and the tables stay as they were.

    Of four pairs and of two, also by a small angle: a module's tables have such ones, and it is not to be blamed.
    """
    angles = (0.3, 0.7, torch.pi, SMALL_ANGLE)
    cos, sin = (torch.cat([_table(angle)[index] for angle in angles]) for index in (0, 1))
    given = vector.expand(1, len(angles), 1, 8), cos, sin
    return all(_turns(student, convention, *(one[..., pairs].contiguous() for one in given)) for pairs in PAIRS_ASKED)


def _turns(student: Student, convention: Convention, x: Tensor, cos: Tensor, sin: Tensor) -> bool:
    try:
        output, after = student.apply_rotary_pos_emb.observe(x, cos, sin)
        output = numbers(output, x.shape)
    except StudentFault:
        return False
    untouched = all(map(torch.equal, (x, cos, sin), after)) and not student.excuses  # of several values
    return untouched and bool((output - convention.rotate(x, cos, sin)).abs().max() < EXACT * 30)


def _carries(student: Student, convention: Convention) -> bool:
    """Whether all rows, positions and heads are turned, in the input's dtype, with gradients and no side effects."""
    x = torch.arange(2 * 3 * 4 * 8.0).reshape(2, 4, 3, 8).transpose(1, 2).sin()
    cos, sin = (torch.cat([_table(angle)[index] for angle in (0.3, 0.7, 1.9)]) for index in (0, 1))
    try:
        observed = x[:, :, :3].contiguous()  # as many heads as positions: code may tell them apart by their number
        then = [-observed, cos, sin]
        output, after = student.apply_rotary_pos_emb.observe(observed, cos, sin, then=then)
        _, after_unrecorded = student.apply_rotary_pos_emb.observe(observed, cos, sin, recording=False, then=then)
        narrow = [student.apply_rotary_pos_emb(x.to(dtype), cos, sin) for dtype in NARROW]
        wide = student.apply_rotary_pos_emb(x, cos.half(), sin.half())
        gradients = student.apply_rotary_pos_emb.gradients(x, cos, sin, upstream=2 * x)
    except StudentFault:
        return False
    if student.excuses:  # of several values: a module would pass them on
        return False
    expected = convention.rotate(observed, cos, sin)
    leaf = x.double().requires_grad_()
    (convention.rotate(leaf, cos, sin) * 2 * x).sum().backward()
    gradient = gradients.of_arguments[0]
    return (
        (output.shape, *(one.shape for one in narrow)) == (observed.shape, x.shape, x.shape)
        and (*(one.dtype for one in narrow), wide.dtype) == (*NARROW, torch.float32)
        and all(bool((one.double() - convention.rotate(x, cos, sin)).abs().max() < 4 * SAME) for one in narrow)
        and bool((wide.double() - convention.rotate(x, cos.half(), sin.half())).abs().max() < EXACT * 8)
        and bool((output.double() - expected).abs().max() < EXACT * 8)
        and all(map(torch.equal, (observed, cos, sin) * 2, (*after, *after_unrecorded)))
        and gradient is not None
        and leaf.grad is not None
        and bool((gradient.double() - leaf.grad).abs().max() < EXACT * 64)
    )


# Properties whose cases call a module with several heads, with other dtypes, or backward, or look at what a call has
# changed. In all others a module is not recorded, unless its outputs are wrong anyway.
ASK_FOR_MORE: Final = ("rope_boundary", "rope_buffers", "rope_exact_angles", "rotary_backward")


def read_rotation(student: Student) -> Rotation:
    """Find out what apply_rotary_pos_emb does; if that fails, a reading without a convention that holds the reason."""
    alone = _read(student, ONE)
    together = alone if alone.convention else _read(student, SEVERAL)
    return together if together.convention else alone


def rotation(student: Student) -> Rotation:
    """What the student's apply_rotary_pos_emb does, found out once per submission."""
    return student.reading(read_rotation)


def module_student(student: Student) -> tuple[Student, Convention]:
    """The submission in which NTKAwareRoPE is judged, and the rotation's convention.

    Where the function does not carry, a stand-in records what the module passes on to it; see :func:`turned`.
    """
    read = rotation(student)
    convention = read.convention if read.convention in CONVENTIONS else CONTRACT
    own = read.carries or (read.turns_one_head and student.property_id not in ASK_FOR_MORE)
    return (student if own else student.with_stand_in(NAME)), convention


def turned(module: StudentModule, x: Tensor, device: str, convention: Convention, *, short: bool = False) -> Tensor:
    """The output for ``x`` of a module whose rotation is only recorded, float64; rotated by what it has passed on.

    With ``short``, tables of fewer positions turn as many.

    Raises:
        StudentFault: If that cannot be rotated.
    """
    output, arguments, named = module.recorded(x.to(device))
    by_name = [named[key] for key in sorted(named, key=lambda key: (key == "cos") + 2 * (key == "sin"))]
    found = [value for value in (*arguments, *by_name) if isinstance(value, Tensor) and value.is_floating_point()]
    if not found:
        return numbers(output, output.shape)  # the module turns by itself
    # The stand-in has given its input back, and so has a module that does nothing else.
    check_equal(output, x.to(output.dtype), say("the output of NTKAwareRoPE, compared with apply_rotary_pos_emb"))
    x, cos, sin, *_ = [*found, *[torch.zeros(0)] * 3]
    if short and x.dim() == 4 and len(cos) > 1:
        x = x[:, : len(cos)]
    if x.dim() != 4 or cos.dim() != 2 or cos.shape != sin.shape or cos.shape[1] != x.shape[3] or len(cos) < x.shape[1]:
        shapes = ", ".join(str(list(value.shape)) for value in found)
        raise WrongAnswer(say("apply_rotary_pos_emb was called with tensors of the shapes {shapes}", shapes=shapes))
    x, cos, sin = (value.detach().cpu().double() for value in (x, cos[: x.shape[1]], sin[: x.shape[1]]))
    return convention.rotate(x, cos, sin)
