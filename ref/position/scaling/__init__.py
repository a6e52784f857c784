"""Ways to read more positions than training saw: each is a pure function from sizes to frequencies.

All take ``(dim, base=10000.0, *, ...)`` and give a ``Scaled``. Two names recur: ``factor`` is how many times longer the
context shall be (the papers' ``s``), ``original_length`` what training saw (their ``L``).
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
