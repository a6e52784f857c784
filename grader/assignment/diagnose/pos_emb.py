"""Rotary embedding: how pairs turn, by which angles, and when the angles change.

As in the hidden tests, the ratio that a call has used is found by comparing its output with those of new modules. The
ratios of several calls are compared with each rule; a rule is named only if it explains every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from grader.assignment.hidden.ropes import BASE, DIM, MIDDLE, MS, Ropes
from grader.assignment.model.outputs import numbers
from grader.assignment.model.rotation import rotation
from grader.assignment.model.turn_words import SERVED, told_pairs, told_places
from grader.assignment.oracle import ntk_angles, smallest_even_ratio
from grader.testing import Student

from .fit import only

Angles = Callable[[int, float, int, int], Tensor]  # dim, base, ratio, positions -> [positions, dim/2], float64
# The contract's ratios are 4, 4, 6, 6 and 10. Of the rules below, each wrong one gives another ratio for some length.
LENGTHS: Final = (3 * MS, 4 * MS, 5 * MS, 6 * MS, 8 * MS + 1)


def _with_base(scaled_base: Callable[[int, float, int], float]) -> Angles:
    return lambda dim, base, ratio, positions: ntk_angles(dim, scaled_base(dim, float(base), ratio), 1, positions)


# Ways to stretch the angles by a ratio; the right one has the name None.
ANGLES: Final[tuple[tuple[str | None, Angles], ...]] = (
    (None, ntk_angles),
    ("rope_scaled_positions", lambda dim, base, ratio, positions: ntk_angles(dim, base, 1, positions) / ratio),
    ("rope_scaled_positions", lambda dim, base, ratio, positions: ntk_angles(dim, base, ratio, positions) / ratio),
    ("rope_base_times_ratio", _with_base(lambda _, base, ratio: base * ratio)),
    ("rope_beta_factor_on_base", _with_base(lambda dim, base, ratio: base * ratio ** (2 / (dim - 2)))),
    ("rope_unscaled_base", lambda dim, base, _, positions: ntk_angles(dim, base, 1, positions)),
)

# Rules that choose the ratio for a length; the right one has the name None.
RATIOS: Final[Mapping[str | None, Callable[[int], float]]] = {
    None: lambda length: smallest_even_ratio(length, MS),
    "rope_odd_ratio": lambda length: -(-length // MS),
    "rope_odd_steps": lambda length: 1 + 2 * -(-(length - MS) // (2 * MS)),
    "rope_exact_ratio": lambda length: length / MS,
    "rope_one_step_too_far": lambda length: smallest_even_ratio(length + 1, MS),
    "rope_power_of_two_ratio": lambda length: 1 << (-(-length // MS) - 1).bit_length(),
}


def pairing_and_sign(student: Student) -> str | None:
    """Name the convention that the function follows; None for the contract's."""
    read = rotation(student)
    if read.convention is not None:
        return read.convention.name or None
    return _of_each_pair(student) if read.turns else None


def _of_each_pair(student: Student) -> str | None:
    """Where no convention fits: what becomes of (1, 0) and (0, 1), for each pair alone."""
    angles = torch.tensor([0.3, 0.8, 1.1, 1.4])
    cos, sin = (table.repeat(2).unsqueeze(0) for table in (angles.cos(), angles.sin()))
    basis = torch.eye(8)[:, None, None]  # [features, 1, 1, hd]
    given = torch.stack(
        [numbers(student.apply_rotary_pos_emb(one.unsqueeze(0), cos, sin), (8,)) for one in basis]
    )  # [from, to]
    own = torch.eye(4, dtype=torch.float64).repeat(2, 2)  # of pairs (x_i, x_{i+hd/2})
    if not _same(given * (1 - own), torch.zeros(8, 8), 1.0):
        return None
    cosines, sines = cos[0].diag().double(), torch.zeros(8, 8, dtype=torch.float64)
    sines[:4, 4:] = sines[4:, :4] = sin[0, :4].diag().double()
    right = cosines + sines * torch.tensor([-1.0, 1.0]).repeat_interleave(4)
    told = told_pairs(given.sum(0), torch.ones(8), cos, sin)
    if told or told_places(given.sum(0), right.sum(0)) or _same(given, right, 1.0):
        return "rotary_other_angles" if told and told.fields(SERVED) else None  # the failing cases tell the others
    one_sign = any(_same(given, cosines + sign * sines, 1.0) for sign in (1, -1))
    return "rotary_one_sign" if one_sign else "rotary_other_turn"


def _turns(ropes: Ropes, angles: Tensor, vector: Tensor) -> list[Tensor]:
    """A vector ``[hd]``, turned by these angles: ``[s, hd]`` for each of the two layouts of the tables."""
    vector = vector.expand(1, len(angles), 1, -1)
    layouts = (angles.repeat(1, 2), angles.repeat_interleave(2, dim=-1))
    return [ropes.convention.rotate(vector, table.cos(), table.sin())[0, :, 0] for table in layouts]


def base(student: Student) -> str | None:
    """Compare with each way to stretch the angles, for two head dimensions and ratios.

    ``rope_unscaled_base`` is named only if the angles do not change by growth, either.
    """
    ropes = Ropes(student, "cpu")
    fitting = {name for name, _ in ANGLES}
    for dim, ratio in ((8, 2), (4, 4)):
        x = torch.linspace(1.0, 2.0, dim).expand(1, 63, 1, dim).contiguous()
        module = ropes.student.NTKAwareRoPE(dim=dim, max_seq_len=64, base=BASE, ratio=ratio, dynamic=False)
        output = ropes.called(module, x)[0, :, 0]
        fitting &= {
            name
            for name, law in ANGLES
            if any(_same(output, turned) for turned in _turns(ropes, law(dim, BASE, ratio, 63), x[0, 0, 0]))
        }
    if fitting == {"rope_unscaled_base"} and not ropes.same(ropes.turn(ropes.new(), MIDDLE), ropes.of_ratio(1, MIDDLE)):
        return None
    return only(fitting)


def _same(actual: Tensor, expected: Tensor, size: float | None = None) -> bool:
    scale = expected.norm(dim=-1, keepdim=True) if size is None else size
    return bool(((actual - expected).abs() <= 2.0**-8 * scale).all())


def grown_ratio(student: Student) -> str | None:
    """Compare the ratios used for several lengths with each rule, then their tables with each way to stretch angles.

    Not where calls use the tables that a module has, however long they are: nothing grows.
    """
    ropes = Ropes(student, "cpu")
    if ropes.asking.short:
        return None
    outputs = {length: ropes.turn(ropes.new(), length) for length in LENGTHS}
    served = {length: ropes.ratios_of(output) for length, output in outputs.items()}
    by_rule = {name for name, rule in RATIOS.items() if all(served[s] == [rule(s)] for s in LENGTHS)}

    def stretched(law: Angles, length: int) -> bool:
        angles = law(DIM, BASE, smallest_even_ratio(length, MS), length)
        return any(ropes.same(outputs[length], turned) for turned in _turns(ropes, angles, ropes.vector))

    return only(by_rule or (name for name, law in ANGLES if all(stretched(law, s) for s in LENGTHS)))
