"""Rotary embedding: how pairs turn, by which angles, and when these change.

To see which angles a module uses, its output is compared with that of the student's own ``apply_rotary_pos_emb`` on
tables of ours, so that it does not matter here how that function pairs and turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from torch import Tensor

from ..judge.cases import signs
from ..judge.conventions import SCALINGS, Angles, convention_followed, scaling_followed
from ..judge.oracle import ntk_angles, smallest_even_ratio
from ..judge.student import Student
from .fit import fits, only, values

DIM, MS, BASE = 8, 8, 10000
SCALED_MS = 64  # long enough for all laws to part, and within the first tables whatever a student does about growth
# Ratios beside those of the contract: 4 | 4, and no more | 6, not 8 | 6, and no more | 10, not 16.
LENGTHS: Final = (3 * MS, 4 * MS, 5 * MS, 6 * MS, 8 * MS + 1)

CONVENTIONS: Final = {
    "opposite angle": "rotary_opposite_angle",
    "swapped tables": "rotary_swapped_tables",
    "neighbouring pairs": "rotary_adjacent_pairs",
}

# The right law is the one without a name.
ANGLES: Final[Mapping[str | None, Angles]] = {
    None: SCALINGS["ntk"],
    "rope_scaled_positions": SCALINGS["scaled_positions"],
    "rope_base_times_ratio": SCALINGS["base_times_ratio"],
    "rope_beta_factor_on_base": SCALINGS["beta_factor_on_base"],
    "rope_unscaled_base": lambda dim, base, _, positions: ntk_angles(dim, base, 1, positions),
}

# From a length to the ratio that serves it.
RATIOS: Final[Mapping[str | None, Callable[[int], int]]] = {
    None: lambda length: smallest_even_ratio(length, MS),
    "rope_odd_ratio": lambda length: -(-length // MS),
    "rope_one_step_too_far": lambda length: smallest_even_ratio(length + 1, MS),
    "rope_power_of_two_ratio": lambda length: 1 << (-(-length // MS) - 1).bit_length(),
}


def pairing_and_sign(student: Student) -> str | None:
    """Ask for the convention that the function follows; that of the contract has no name here."""
    return CONVENTIONS.get(convention_followed(student).name)


def _input(length: int) -> Tensor:
    """``[1, s, 1, hd]``: random signs, so that every feature has a part in every output."""
    return signs(0, "diagnose", shape=(1, length, 1, DIM))


def _turns_by(student: Student, output: Tensor, x: Tensor, angles: Tensor) -> bool:
    """Whether the student's own function turns ``x`` into ``output`` by these angles, in either layout of tables."""
    layouts = (angles.repeat(1, 2), angles.repeat_interleave(2, dim=-1))
    return any(
        fits(values(student.apply_rotary_pos_emb(x, table.cos().float(), table.sin().float()), x.shape), output)
        for table in layouts
    )


def base(student: Student) -> str | None:
    """Compare with each law of the angles on a few positions, for the ratio 2, which no rule about ratios changes."""
    x = _input(SCALED_MS)
    output = values(student.NTKAwareRoPE(dim=DIM, max_seq_len=SCALED_MS, ratio=2)(x), x.shape)
    return only(name for name, law in ANGLES.items() if _turns_by(student, output, x, law(DIM, BASE, 2, SCALED_MS)))


def grown_ratio(student: Student) -> str | None:
    """Compare new modules' outputs for several lengths with each rule for the ratio.

    Angles are those that the student's own scaling makes of a ratio: that one may be wrong as well.
    """
    law = scaling_followed(student)
    inputs = [_input(length) for length in LENGTHS]
    outputs = [values(student.NTKAwareRoPE(dim=DIM, max_seq_len=MS)(x), x.shape) for x in inputs]

    def follows(rule: Callable[[int], int]) -> bool:
        angles = [law(DIM, BASE, rule(length), length) for length in LENGTHS]
        return all(_turns_by(student, *case) for case in zip(outputs, inputs, angles, strict=True))

    return only(name for name, rule in RATIOS.items() if follows(rule))


def _around_a_long_call(student: Student, dynamic_argument: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The same short input before a long one, as the beginning of the long one, and after it."""
    long = _input(3 * MS)
    short = long[:, :MS].clone()
    module = student.NTKAwareRoPE(dim=DIM, max_seq_len=MS, dynamic=dynamic_argument)
    before = values(module(short), short.shape)
    within = values(module(long), long.shape)[:, :MS]
    return before, within, values(module(short), short.shape)


def static(student: Student) -> str | None:
    """A static module that treats a short input as part of a long one has kept the tables."""
    before, within, after = _around_a_long_call(student, False)
    return "rope_static_keeps_growth" if fits(after, within) and not fits(after, before) else None


def dynamic(student: Student) -> str | None:
    """A dynamic module that treats a short input as before a long one has not kept the tables."""
    before, within, after = _around_a_long_call(student, True)
    return "rope_dynamic_forgets_growth" if fits(after, before) and not fits(after, within) else None


def buffers(student: Student) -> str | None:
    """Look at ``state_dict()`` of a new module, and of one that has grown."""
    module = student.NTKAwareRoPE(dim=DIM, max_seq_len=MS, dynamic=True)
    if module.state_dict():
        return "rope_persistent_tables"
    module(_input(3 * MS))
    return "rope_persistent_tables" if module.state_dict() else None
