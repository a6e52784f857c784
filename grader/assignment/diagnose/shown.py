"""Causes that failing cases show by themselves, as data: patterns of what they say.

A failing case is matched as ``id: message``, from its beginning. A cause is named where all failing cases of a property
fit its patterns: a hint that some failing case contradicts does more harm than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

# From a cause to the cases that it explains; a cause that has a probe and no entry here explains any.
EXPLAINED: Final[Mapping[str, tuple[str, ...]]] = {
    "rope_persistent_tables": ("tables_are", "growth_registers"),
    "ids_changed_in_place": ("ids_and", "earlier_calls"),
    "default_argument": ("arguments_have_the_defaults", "the_rank_is_zero"),
    "rope_default_argument": ("arguments_have_the_defaults",),
    "norm_memory_layout": ("any_memory_layout_works",),
    "output_dtype": (r".*: the output is \w+, not \w+$",),
    "output_shape": (r".*: the shape is \[", "every_batch_row_and_head_turns_alike.*: float32 output"),
    "norm_rounded_to_gamma": ("a_float32_input_is_not_rounded", "only_the_output"),
    "norm_mode": (".*: the output in evaluation mode beside", r"earlier_calls.* after eval\(\)$"),
    "input_changed": (".*: the input after the call:", "earlier_calls"),
    "parameter_changed": (".*: (gamma|the table|the shard) after the call:", ".*: gamma is", "earlier_calls"),
    "earlier_call_remembered": ("earlier_calls_leave_no_trace", ".*: the output in evaluation mode beside"),
    "not_a_parameter": (".*: 0 parameters are registered", r".*: the output is \w+, not \w+$"),
    "further_parameter": (".*: ([2-9]|[1-9][0-9]+) parameters are registered", ".*: a buffer is registered"),
    "frozen_parameter": (".*: the parameter does not require gradients",),
    "parameter_dtype": (
        ".*: the parameter is (float|bfloat)",
        ".*beside the float32 one",
        r".*: the output is \w+, not",
    ),
    "parameter_size": (".*: the parameter has [0-9]+ elements", r".*: the shape is \["),
    "bad_sizes_accepted": (".* is accepted; it must raise an error$",),
    "bad_sizes_unnamed": (".*: the error raised for .* does not name ",),
    "bad_sizes_other_error": (".* raises .*; a ValueError or an AssertionError is asked for$",),
    "vocab_lookup_16_bit_ids": ("ids_beyond_16_bits",),
    "shard_16_bit_ids": ("ids_beyond_16_bits",),
    "gradient_cut": (
        ".*: no gradient reaches ",
        r".* rows receive something else(; the row of id \d+ receives nothing){2,}$",
    ),
    "one_row_without_gradient": (r".*: 1 of \d+ rows receive something else; the row of id \d+ receives nothing$",),
    "few_digits": ("(?!.*so nothing can be seen here)",),
    "gradient_scaled": (
        ".*: gradient of the input of NTKAwareRoPE",
        ".*gradient of .*; all of these are too (small|large) by the same factor$",
        r".* rows receive something else(; the row of id \d+ receives too (little|much))+$",
    ),
    "gradient_not_summed": (r".* receives (the mean of what its uses send|what one of its uses sends)$",),
    "init_reset_differs": (r".*: \w+ (uniform|normal) draw .* after reset_parameters\(\):",),
    "init_not_drawn": (r".*: \w+ (uniform|normal) draw .*; all of these are (zero|the same number)$",),
    "shard_seed_of_later_ranks": (".*: .* on rank [12] of 3",),
    "shard_neighbour_answered": (r".*: ids of other ranks on .*: 1 of \d+ ids give something else; [^;]*$",),
    "shard_filled_otherwise": (
        r".*: ids of other ranks on .*; id \d+ gives (no row of the table|numbers that are not finite)$",
    ),
    "rope_table_dtype": ("tables_have_the_dtype",),
    "rope_module_gradient": ("gradients_flow_through_the_module",),
    "rope_module_dtype": (r"every_batch_row_and_head.*: the output is",),
    "rope_heads": ("every_batch_row_and_head.*: .* a head is turned otherwise than alone$",),
    "rope_growth_at_es": (
        r".*ratio=1, .* s = 8, ",
        r".*ratio=2, .* s = 16, ",
        r".*ratio=3, .* s = 24, ",
        r".*ratio=5, .* s = 40, ",
    ),
    "rope_far_positions": ("far_positions.*base=10000, ratio=2, ",),
    "rope_scaling": (r"the_ratio_stretches.*: .*ratio=[24], ",),
    "rope_base_ignored": (r".*base=16, ratio=[124], ",),
    "rope_unscaled_angles": ("the_ratio_stretches",),
    "rotary_tables_changed": (".*: (cos|sin) (after the call:|has another shape)",),
    "rotary_heads_differ": (r"every_batch_row.*: float32 output",),
}

# From a cause to what at least one of its cases must show.
NEEDED: Final[Mapping[str, str]] = {
    "output_shape": r".*: the shape is \[",
    "few_digits": "float32_outputs_are_exact",
    "norm_rounded_to_gamma": "a_float32_input",
    "norm_mode": ".*: the output in evaluation mode beside",
    "input_changed": ".*: the input after the call:",
    "parameter_changed": r".*: ((gamma|the table|the shard) after the call:|gamma is \w+ after)",
    "earlier_call_remembered": "earlier_calls",
    "not_a_parameter": ".*: 0 parameters are registered",
    "parameter_dtype": ".*: the parameter is ",
    "parameter_size": "(.*: the parameter has |the_table_is_the_only)",
    "gradient_scaled": ".*(by the same factor$| receives too )",
    "rope_base_ignored": ".*base=16, ratio=[12], ",
    "rope_unscaled_angles": ".*ratio=1, ",
}

# From a property to causes that no probe looks for, the most specific first.
SHOWN_BY_CASES: Final[Mapping[str, tuple[str, ...]]] = {
    "norm_dtype_and_shape": ("norm_memory_layout", "output_dtype", "output_shape"),
    "norm_float32_inside": ("norm_rounded_to_gamma", "few_digits"),
    "norm_init_and_reset": ("init_reset_differs", "init_not_drawn"),
    "norm_registration_and_arguments": (
        *("default_argument", "not_a_parameter", "further_parameter", "frozen_parameter", "parameter_dtype"),
        *("parameter_size", "bad_sizes_accepted", "bad_sizes_other_error"),
    ),
    "norm_sizes_named": ("bad_sizes_accepted", "bad_sizes_unnamed"),
    "norm_backward": ("not_a_parameter", "frozen_parameter", "gradient_cut", "gradient_scaled"),
    "norm_purity": ("norm_mode", "input_changed", "parameter_changed", "earlier_call_remembered"),
    "vocab_lookup": ("vocab_lookup_16_bit_ids", "output_shape"),
    "vocab_init_and_reset": ("init_reset_differs", "init_not_drawn"),
    "vocab_dtype_and_registration": (
        *("default_argument", "not_a_parameter", "further_parameter", "frozen_parameter", "output_dtype"),
        *("parameter_dtype", "parameter_size"),
    ),
    "vocab_purity": ("parameter_changed", "earlier_call_remembered"),
    "vocab_backward": (
        *("not_a_parameter", "frozen_parameter", "gradient_cut", "one_row_without_gradient"),
        *("gradient_not_summed", "gradient_scaled"),
    ),
    "shard_owned_ids": ("shard_16_bit_ids",),
    "shard_zeros_elsewhere": ("shard_neighbour_answered", "shard_filled_otherwise"),
    "shard_seed": ("init_reset_differs", "shard_seed_of_later_ranks", "init_not_drawn"),
    "shard_registration_and_arguments": (
        *(
            "default_argument",
            "not_a_parameter",
            "further_parameter",
            "frozen_parameter",
            "output_dtype",
            "parameter_dtype",
        ),
        *("parameter_size", "bad_sizes_accepted", "bad_sizes_other_error"),
    ),
    "shard_sizes_named": ("bad_sizes_accepted", "bad_sizes_unnamed"),
    "shard_purity": ("parameter_changed", "earlier_call_remembered"),
    "shard_backward": (
        *("not_a_parameter", "frozen_parameter", "gradient_cut", "one_row_without_gradient"),
        *("gradient_not_summed", "gradient_scaled"),
    ),
    "rotary_broadcast": ("output_shape", "rotary_heads_differ"),
    "rotary_dtype": ("output_dtype", "few_digits"),
    "rotary_purity": ("input_changed", "rotary_tables_changed"),
    "rotary_backward": ("rope_module_gradient", "gradient_cut", "gradient_scaled"),
    "rope_base": ("rope_default_argument", "rope_scaling", "rope_base_ignored", "rope_unscaled_angles"),
    "rope_exact_angles": ("rope_base_ignored",),
    "rope_boundary": ("rope_module_dtype", "rope_heads", "rope_growth_at_es"),
    "rope_buffers": ("rope_table_dtype", "input_changed", "earlier_call_remembered"),
}


def explains(cause: str, failing: Mapping[str, str]) -> bool:
    """Whether a cause explains every failing case, given by id with its message."""
    told = [f"{case}: {message}" for case, message in failing.items()]
    patterns = EXPLAINED.get(cause)
    needed = cause not in NEEDED or any(_fits((NEEDED[cause],), text) for text in told)
    return needed and (patterns is None or all(_fits(patterns, text) for text in told))


def _fits(patterns: Sequence[str], told: str) -> bool:
    return any(re.match(pattern, told, re.DOTALL) for pattern in patterns)


def shown(property_id: str, failing: Mapping[str, str]) -> str | None:
    """The first cause of the property that its failing cases show."""
    causes = SHOWN_BY_CASES.get(property_id, ())
    return next((cause for cause in causes if failing and explains(cause, failing)), None)
