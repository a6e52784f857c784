"""Scalings of RoPE for sequences longer than those of training: each is a pure function from sizes to frequencies.

All take ``(dim, base=10000.0, *, ...)`` and return a ``Scaled``. ``factor`` is always how many times longer the context
should become (``s`` in the papers), ``original_length`` the length of the sequences in training (``L`` in the papers).
"""

from .dynamic import dynamic_scaling
from .linear import linear_scaling
from .llama3 import llama3_scaling
from .longrope import longrope_scaling
from .ntk import ntk_scaling
from .proportional import proportional_scaling
from .scaled import Scaled, no_scaling
from .yarn import yarn_attention_factor, yarn_ramp_over_pairs, yarn_ramp_over_turns, yarn_scaling

__all__ = [
    "Scaled",
    "dynamic_scaling",
    "linear_scaling",
    "llama3_scaling",
    "longrope_scaling",
    "no_scaling",
    "ntk_scaling",
    "proportional_scaling",
    "yarn_attention_factor",
    "yarn_ramp_over_pairs",
    "yarn_ramp_over_turns",
    "yarn_scaling",
]
