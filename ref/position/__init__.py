"""Position encodings for the notebooks. They use the solution of task 4 for the rotation.

An encoding overrides one of the three hooks of ``encoding.PositionEncoding``, or none::

    embed   changes token embeddings   absolute: integer, binary, sinusoidal, learned   once, before the first layer
    rotate  changes queries and keys   rope: adjacent, complex, half-split              products depend on the distance
    bias    is added to logits         alibi                                            distant keys count less
    none                               NoPE                                             only the causal mask has order

``scaling`` and ``yarn`` let RoPE work on sequences longer than those of training; ``permutation`` converts weights from
one layout of pairs to the other. ``attention`` is the layer that calls the hooks. ``angles`` computes what sinusoidal
and rotary encodings share.

Shapes: positions ``[seq]``; queries and keys ``[batch, seq, heads, head_dim]``; frequencies ``[head_dim/2]``, radians
per position; angles ``[seq, head_dim/2]``, radians. For example, to rotate queries with YaRN's frequencies::

    theta, attention_factor = yarn_scaling(64, factor=4, original_length=2048, ramp="turns")
    queries = rotate_half_split(queries, rotary_angles(positions, theta), attention_factor)
"""
