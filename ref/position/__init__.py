"""Position encodings for the notebooks, one small file each. They use the solution of task 4 for the rotation.

An encoding overrides one of the three hooks of ``encoding.PositionEncoding``, or none::

    embed   changes token embeddings   integer, binary, sinusoidal, learned   once, before the first layer
    rotate  changes queries and keys   rope: adjacent, complex, half_split    their products depend on the distance
    bias    is added to logits         alibi                                  distant keys count less
    none                               nope                                   only the causal mask depends on order

``scaling`` lets RoPE work on sequences longer than those of training. ``attention`` is the layer that calls the hooks.
``latent`` is a layer of another kind, MLA, which rotates features of their own. ``angles`` computes what sinusoidal and
rotary encodings share.

Shapes: positions ``[seq]``; queries and keys ``[batch, seq, heads, head_dim]``; frequencies ``[head_dim/2]``, radians
per position; angles ``[seq, head_dim/2]``, radians. For example, to rotate queries with YaRN's frequencies::

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
from .latent import LatentAttention
from .learned import LearnedEncoding
from .nope import NoPE
from .rope import (
    Rotary,
    axis_of_pairs,
    half_split_order,
    half_split_tables,
    multi_axis_angles,
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
    "LatentAttention",
    "LearnedEncoding",
    "NoPE",
    "PositionEncoding",
    "Rotary",
    "Scaled",
    "alibi_bias",
    "alibi_slopes",
    "axis_of_pairs",
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
    "multi_axis_angles",
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
