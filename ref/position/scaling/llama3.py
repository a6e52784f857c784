"""The scaling of Llama 3.1: YaRN's ramp over turns, with other limits and without a temperature."""

from .scaled import Scaled
from .yarn import yarn_scaling


def llama3_scaling(
    dim: int,
    base: float = 500000.0,
    *,
    factor: float = 8.0,
    original_length: int = 8192,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
) -> Scaled:
    """Divide frequencies of pairs that turn less than once within ``L`` by ``s``; keep those of four turns or more.

    Meta's code compares wavelengths with ``L / low_freq_factor`` and ``L / high_freq_factor``. Between them it blends
    linearly in ``L / lambda``, the number of turns. So the two factors are the ``alpha`` and ``beta`` of YaRN.

    Args:
        dim: The head dimension, even.
        base: The base used in training.
        factor: ``s``; 8 in Llama 3.1, 32 in Llama 3.2.
        original_length: ``L``.
        low_freq_factor: Turns below which a pair is interpolated.
        high_freq_factor: Turns above which a pair is left alone.

    Source:
        ``apply_scaling`` in github.com/meta-llama/llama-models, models/llama3/model.py; "llama3" in transformers
        v5.23.0, modeling_rope_utils.py.
    """
    return yarn_scaling(
        dim,
        base,
        factor=factor,
        original_length=original_length,
        ramp="turns",
        alpha=low_freq_factor,
        beta=high_freq_factor,
        attention_factor=1.0,
    )
