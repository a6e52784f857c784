"""A family of position encodings, one small file each, for the notebooks. Task 4 is a member, not a copy.

Where positions enter, and what for::

    embed   before the first layer   integer, binary, sinusoidal, learned      the token says where it is
    rotate  queries and keys         rope: adjacent, complex, half_split       their products see the distance
    bias    attention logits         alibi                                     far keys count less
    nowhere                          nope                                      the causal mask alone tells order

``scaling`` holds the ways to make RoPE reach beyond the lengths of training, ``attention`` the layer into which all of
them plug, through the three hooks of ``encoding``. ``angles`` is the arithmetic that sinusoids and rotations share.

Shapes: positions ``[seq]``; queries and keys ``[batch, seq, heads, head_dim]``; frequencies ``[head_dim/2]``, radians
per position; angles ``[seq, head_dim/2]``, radians. A whole path reads::

    theta, attention_factor = yarn_scaling(64, factor=4, original_length=2048, ramp="turns")
    queries = rotate_half_split(queries, rotary_angles(positions, theta), attention_factor)
"""

from .additive import Additive
from .alibi import ALiBi, alibi_bias, alibi_slopes
from .angles import inverse_frequencies, rotary_angles, rotation_matrix
from .attention import CausalSelfAttention, KeyValueCache, causal_mask
from .binary import binary_encoding
from .encoding import PositionEncoding
from .integer import integer_encoding
from .learned import LearnedEncoding
from .nope import NoPE
from .rope import (
    Rotary,
    half_split_order,
    half_split_tables,
    rotary_phasors,
    rotate_adjacent,
    rotate_complex,
    rotate_half_split,
    to_adjacent,
    to_half_split,
)
from .scaling import (
    Scaled,
    dynamic_scaling,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    no_scaling,
    ntk_scaling,
    proportional_scaling,
    yarn_attention_factor,
    yarn_ramp_over_pairs,
    yarn_ramp_over_turns,
    yarn_scaling,
)
from .sinusoidal import shift_matrix, sinusoidal_encoding

__all__ = [
    "ALiBi",
    "Additive",
    "CausalSelfAttention",
    "KeyValueCache",
    "LearnedEncoding",
    "NoPE",
    "PositionEncoding",
    "Rotary",
    "Scaled",
    "alibi_bias",
    "alibi_slopes",
    "binary_encoding",
    "causal_mask",
    "dynamic_scaling",
    "half_split_order",
    "half_split_tables",
    "integer_encoding",
    "inverse_frequencies",
    "linear_scaling",
    "llama3_scaling",
    "longrope_scaling",
    "no_scaling",
    "ntk_scaling",
    "proportional_scaling",
    "rotary_angles",
    "rotary_phasors",
    "rotate_adjacent",
    "rotate_complex",
    "rotate_half_split",
    "rotation_matrix",
    "shift_matrix",
    "sinusoidal_encoding",
    "to_adjacent",
    "to_half_split",
    "yarn_attention_factor",
    "yarn_ramp_over_pairs",
    "yarn_ramp_over_turns",
    "yarn_scaling",
]
