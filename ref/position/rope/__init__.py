"""Rotary position embedding: three implementations with two layouts of pairs, and the permutation between the layouts.

``rotate_adjacent`` and ``rotate_complex`` pair features ``(2i, 2i + 1)``, ``rotate_half_split`` pairs ``(i, i +
hd/2)``. All three take ``(x, angles, attention_factor)``. ``to_half_split`` and ``to_adjacent`` convert weights from
one layout to the other; ``multi_axis_angles`` has a position on each of several axes; ``Rotary`` is the encoding that
an attention layer takes.
"""

from .adjacent import rotate_adjacent
from .complex import rotary_phasors, rotate_complex
from .half_split import half_split_tables, rotate_half_split
from .multi_axis import axis_of_pairs, multi_axis_angles
from .permutation import half_split_order, to_adjacent, to_half_split
from .rotary import Rotary

__all__ = [
    "Rotary",
    "axis_of_pairs",
    "half_split_order",
    "half_split_tables",
    "multi_axis_angles",
    "rotary_phasors",
    "rotate_adjacent",
    "rotate_complex",
    "rotate_half_split",
    "to_adjacent",
    "to_half_split",
]
