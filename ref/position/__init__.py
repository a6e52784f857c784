"""Position encodings for the notebooks. They use the solution of task 4 for the rotation.

An encoding overrides one of the three hooks of ``encoding.PositionEncoding``, or none::

    embed   changes token embeddings   absolute: integer, binary, sinusoidal, learned   once, before the first layer
    rotate  changes queries and keys   rope: adjacent, complex, half-split              products depend on the distance
    bias    is added to logits         alibi                                            distant keys count less
    none                               NoPE                                             only the causal mask has order

``scaling`` and ``yarn`` let RoPE work on sequences longer than those of training; ``permutation`` converts weights from
one layout of pairs to the other; ``multi_axis`` has a position on each of several axes. ``attention`` is the layer that
calls the hooks. ``latent`` is a layer of another kind, MLA, which rotates features of their own. ``angles`` computes
what sinusoidal and rotary encodings share.

Shapes: positions ``[seq]``; queries and keys ``[batch, seq, heads, head_dim]``; frequencies ``[head_dim/2]``, radians
per position; angles ``[seq, head_dim/2]``, radians. For example, to rotate queries with YaRN's frequencies::

    theta, attention_factor = yarn_scaling(64, factor=4, original_length=2048, ramp="turns")
    queries = rotate_half_split(queries, rotary_angles(positions, theta), attention_factor)
"""

from .absolute import (
    Additive,
    LearnedEncoding,
    binary_encoding,
    integer_encoding,
    shift_matrix,
    sinusoidal_encoding,
)
from .alibi import ALiBi, alibi_bias, alibi_slopes
from .angles import inverse_frequencies, rotary_angles, rotation_matrix
from .attention import CausalSelfAttention, KeyValueCache, causal_mask
from .encoding import NoPE, PositionEncoding
from .latent import LatentAttention
from .multi_axis import axis_of_pairs, multi_axis_angles
from .permutation import half_split_order, to_adjacent, to_half_split
from .rope import Rotary, half_split_tables, rotary_phasors, rotate_adjacent, rotate_complex, rotate_half_split
from .scaling import (
    Scaled,
    dynamic_scaling,
    linear_scaling,
    longrope_scaling,
    no_scaling,
    ntk_scaling,
    proportional_scaling,
)
from .yarn import (
    llama3_scaling,
    yarn_attention_factor,
    yarn_ramp_over_pairs,
    yarn_ramp_over_turns,
    yarn_scaling,
)

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
