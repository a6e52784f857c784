"""Submissions with one fault each, of the kinds that students make.

The strings below serve as ``also=``: a fault in what a module computes reaches every property that looks at its output,
and one in how its parameter is registered reaches every property that has to set that parameter first.
"""

NORM_OUTPUT = (
    "norm_groups norm_eps_inside_sqrt norm_gamma norm_dtype_and_shape norm_float32_inside norm_backward norm_purity"
)
NORM = f"{NORM_OUTPUT} norm_init_and_reset norm_registration_and_arguments"
VOCAB_OUTPUT = "vocab_lookup vocab_dtype_and_registration vocab_purity vocab_backward"
VOCAB = f"{VOCAB_OUTPUT} vocab_init_and_reset"
SHARD_OUTPUT = "shard_owned_ids shard_zeros_elsewhere shard_sum_over_ranks shard_purity shard_backward"
SHARD = f"{SHARD_OUTPUT} shard_seed shard_registration_and_arguments"
ROPE_GROWTH = "rope_boundary rope_smallest_even_ratio rope_static rope_dynamic"
ROPE = f"{ROPE_GROWTH} rope_base rope_exact_angles rope_buffers"
ROTARY = f"rotary_pairing_and_sign rotary_broadcast rotary_dtype rotary_backward rotary_purity {ROPE}"
