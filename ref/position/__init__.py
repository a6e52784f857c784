"""Position encodings for the notebooks. They use the solution of task 4 for the rotation.

A transformer can use positions in three places, or in none::

    absolute   integer, binary, sinusoidal, learned   added to embeddings, once         each position has its vector
    rope       adjacent, complex, half-split          rotates queries and keys          products depend on the distance
    alibi                                             is added to logits                distant keys count less
    NoPE, which needs no code                                                           only the causal mask has order

``scaling`` and ``yarn`` let RoPE work on sequences longer than those of training; ``permutation`` converts weights from
one layout of pairs to the other. ``angles`` computes what sinusoidal and rotary encodings share.

Shapes: positions ``[seq]``; queries and keys ``[batch, seq, heads, head_dim]``; frequencies ``[head_dim/2]``, radians
per position; angles ``[seq, head_dim/2]``, radians. For example, to rotate queries with YaRN's frequencies::

    theta, attention_factor = yarn_scaling(64, factor=4, original_length=2048, ramp="turns")
    queries = rotate_half_split(queries, rotary_angles(positions, theta), attention_factor)
"""
