"""An error that one property has charged is not charged again by the next.

Where a later property builds on an earlier one, the earlier mistake is recognised among alternatives that are ours, and
the later property is judged on the alternative that the student's own output follows. Nothing of the student's serves
as an expected value, and who follows an alternative has lost the earlier property's points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from grader.judge import oracle
from grader.judge.compare import error_in_ulp
from grader.judge.faults import StudentFault
from grader.judge.student import Student

SAME_LAW = 64.0  # ulp: two laws differ by thousands, correct arithmetic by a few
SAME_TABLE = 1e-4  # of cosines and sines: two laws differ by tenths, correct arithmetic by millionths


def follows(output: Tensor, expected: Tensor, scale: Tensor, dtype: torch.dtype) -> bool:
    """Whether ``output`` obeys the law that ``expected`` was computed by."""
    if output.shape != expected.shape or output.is_complex():
        return False
    return bool(error_in_ulp(output, expected, scale, dtype).max() <= SAME_LAW)


def grouping_followed(output: Tensor, x: Tensor, gamma: Tensor, group_size: int) -> tuple[Tensor, int]:
    """The grouping of features that a GroupRMSNorm output shows, as an order of features and a group size.

    In that order, groups are consecutive. The contract's own grouping, unless the output follows another.
    """
    hidden = x.shape[-1]
    in_order = torch.arange(hidden)
    strided = in_order.reshape(group_size, -1).T.flatten()
    candidates = [(in_order, group_size), (in_order, hidden), (strided, group_size), (in_order, hidden // group_size)]
    for order, size in candidates:
        expected = torch.empty(x.shape, dtype=torch.float64)
        expected[..., order] = oracle.rms_norm(x[..., order], gamma[order], size, 1e-5)
        if follows(output, expected, expected.abs(), x.dtype):
            return order, size
    return candidates[0]


@dataclass(frozen=True)
class Convention:
    """A way of pairing features and turning them.

    Attributes:
        name: For messages.
        rotate: ``(x, cos, sin) -> y`` with tables as the contract lays them out.
        order: From the contract's order of features to the convention's own, for a head dimension.
        sign: -1 where it turns the other way.
        swapped: Whether cosine and sine have changed places.
        mixed_layout: Whether it may be used on tables laid out for halves, where it reads the wrong pairs' angles.
    """

    name: str
    rotate: Callable[[Tensor, Tensor, Tensor], Tensor]
    order: Callable[[int], Tensor]
    sign: int = 1
    swapped: bool = False
    mixed_layout: bool = False

    def probe(self, dim: int) -> Tensor:
        """``[hd]``: the input that a rotation turns into cosines and sines: the first of each pair one, else zero."""
        vector = torch.zeros(dim)
        vector[self.order(dim)[: dim // 2]] = 1
        return vector

    def read(self, output: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines ``[..., hd/2]`` from the rotated probe."""
        order = self.order(output.shape[-1])
        cos, sin = output[..., order].chunk(2, dim=-1)
        return (sin, cos) if self.swapped else (cos, self.sign * sin)

    def pairs_read(self, dim: int) -> list[tuple[Tensor, Tensor]]:
        """For each layout of the tables, which pair's cosine and which pair's sine serves as the i-th."""
        pairs = torch.arange(dim // 2)
        layouts = [(pairs, pairs)]
        if self.mixed_layout:
            layouts.append((2 * pairs % (dim // 2), (2 * pairs + 1) % (dim // 2)))
        return layouts


def _halves(dim: int) -> Tensor:
    return torch.arange(dim)


def _neighbours(dim: int) -> Tensor:
    return torch.cat((torch.arange(0, dim, 2), torch.arange(1, dim, 2)))


def _rotate_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.double()[..., 0::2], x.double()[..., 1::2]
    turned = torch.stack((-second, first), dim=-1).flatten(-2)
    return x.double() * cos.double().unsqueeze(1) + turned * sin.double().unsqueeze(1)


CONTRACT = Convention("half-split pairs", oracle.rotate, _halves)
CONVENTIONS = (
    CONTRACT,
    Convention("opposite angle", lambda x, cos, sin: oracle.rotate(x, cos, -sin), _halves, sign=-1),
    Convention("swapped tables", lambda x, cos, sin: oracle.rotate(x, sin, cos), _halves, swapped=True),
    Convention("neighbouring pairs", _rotate_neighbours, _neighbours, mixed_layout=True),
)


def turning_scale(x: Tensor) -> Tensor:
    """The length of any pair that an element can belong to, float64: halves or neighbours."""
    neighbours = x.double().unflatten(-1, (-1, 2)).norm(dim=-1).repeat_interleave(2, dim=-1)
    return torch.maximum(oracle.pair_norm(x), neighbours)


_FOLLOWED: WeakKeyDictionary[Student, Convention] = WeakKeyDictionary()


def convention_followed(student: Student) -> Convention:
    """The convention that the student's ``apply_rotary_pos_emb`` follows; the contract's, unless another fits.

    Found once a submission.
    """
    if student not in _FOLLOWED:
        _FOLLOWED[student] = _find_convention(student)
    return _FOLLOWED[student]


def _find_convention(student: Student) -> Convention:
    """Try each on one position with one angle: then neither the order of pairs in a table nor broadcasting matters."""
    x = torch.tensor([1.0, 2.0, -3.0, 5.0, 7.0, -11.0, 13.0, 17.0]).reshape(1, 1, 1, 8)
    cos, sin = torch.full((1, 8), 0.7).cos(), torch.full((1, 8), 0.7).sin()
    try:
        output = student.apply_rotary_pos_emb(x, cos, sin)
    except StudentFault:
        return CONTRACT
    for convention in CONVENTIONS:
        expected = convention.rotate(x, cos, sin)
        if follows(output, expected, torch.full_like(expected, 32.0), torch.float32):
            return convention
    return CONTRACT


Angles = Callable[[int, float, int, int], Tensor]  # dim, base, ratio, positions -> [positions, dim/2], float64


def _angles_with_base(scaled_base: Callable[[int, float, int], float]) -> Angles:
    def angles(dim: int, base: float, ratio: int, positions: int) -> Tensor:
        return oracle.ntk_angles(dim, scaled_base(dim, float(base), ratio), 1, positions)

    return angles


# Ways to stretch the angles by a ratio, the contract's first. Those that ignore the ratio are not among them: from
# their tables nobody can tell which ratio was used.
SCALINGS: dict[str, Angles] = {
    "ntk": oracle.ntk_angles,
    "scaled_positions": lambda dim, base, ratio, positions: oracle.ntk_angles(dim, base, 1, positions) / ratio,
    "base_times_ratio": _angles_with_base(lambda _, base, ratio: base * ratio),
    "beta_factor_on_base": _angles_with_base(lambda dim, base, ratio: base * ratio ** (2 / (dim - 2))),
}
_SCALING: WeakKeyDictionary[Student, Angles] = WeakKeyDictionary()


def scaling_followed(student: Student) -> Angles:
    """The way in which the student's NTKAwareRoPE stretches its angles; the contract's, unless another fits.

    Found once a submission, from fresh modules with an even ratio.
    """
    if student not in _SCALING:
        _SCALING[student] = _find_scaling(student)
    return _SCALING[student]


def _find_scaling(student: Student) -> Angles:
    convention = convention_followed(student)
    dim, length, ratio = 8, 16, 4
    probe = convention.probe(dim).expand(1, length, 1, dim).contiguous()
    try:
        output = student.NTKAwareRoPE(dim=dim, max_seq_len=length, ratio=ratio)(probe)
    except StudentFault:
        return oracle.ntk_angles
    if list(output.shape) != [1, length, 1, dim] or output.is_complex():
        return oracle.ntk_angles
    read = torch.cat(convention.read(output[0, :, 0].double().cpu()), dim=-1)
    for angles in SCALINGS.values():
        law = angles(dim, 10000, ratio, length)
        for cos_pairs, sin_pairs in convention.pairs_read(dim):
            expected = torch.cat((law[:, cos_pairs].cos(), law[:, sin_pairs].sin()), dim=-1)
            if bool((read - expected).abs().max() < SAME_TABLE):
                return angles
    return oracle.ntk_angles
