"""What classes of mistakes cost, between the bounds that a lecturer would sign.

A mistake declares what it breaks, which is checked where it is judged: ``test_variants.py``, ``test_model.py`` and
``grader.lab.charges``. It is judged here only if what it may break beside that would cost too much.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants.slips import submission
from grader.assignment.corpus.variants.slips.slip import slip
from grader.assignment.corpus.variants.slips.styles import ROTATION_WITH_BACKWARD
from grader.lab.charges import judged, lost, subjects
from grader.selftest import in_quick
from grader.specimens.variants import Variant

# For each class the least and the most points, and mistakes of it, by the last part of their names.
COSTS = {
    "another default": (1, 3, "eps_default range_default seed_default rank_default base_default "
        "vocab_mean_default vocab_seed_default shard_seed_default"),
    "several values": (3, 8, "norm_and_its_root rows_and_ids rows_and_mask output_and_itself turned_and_its_angles"),
    "a reversed check of sizes": (4, 10, "sizes_divided_the_other_way_round refuses_what_divides"),
    "stale from the second call on": (6, 10, "cached_rms group_size_of_the_latest_module gamma_copied_in_evaluation "
        "sharpens_with_every_call gamma_widened view_of_gamma"),
    "stale rows, of 22 or 36 points": (3, 8, "vocab_cached rows_of_the_last_ids table_copied_in_evaluation "
        "shard_cached shard_rows_of_the_last_sum"),
    "nothing can be trained": (4, 7, "plain_tensor gamma_a_buffer frozen detached_weight detached_input no_grad "
        "norm_without_gradient_in_evaluation vocab_plain_tensor vocab_a_buffer vocab_frozen vocab_detached "
        "table_without_gradient_in_evaluation shard_plain_tensor shard_a_buffer shard_frozen shard_detached "
        "shard_no_grad shard_without_gradient_in_evaluation rotary_detached rotary_no_grad rope_no_grad "
        "rope_detached rope_without_gradient_in_evaluation"),
    "another output in one mode": (4, 7, "drops_features_in_training noise_in_training another_output_in_eval "
        "gamma_only_in_training dropout_seeded_by_the_draw shard_dropout rope_dropout rope_scaled_in_evaluation"),
    "one group is refused": (1, 11, "one_group_is_refused"),
    "another rotation from the second call on": (5, 9, "signs_written_into_the_table tables_in_place"),
    "short calls of ratio one": (4, 9, "short_calls_of_ratio_one"),
    "a rank or an id is refused": (7, 11, "first_rank_refused one_rank_refused shard_id_zero_refused "
        "shard_last_id_refused id_zero_refused last_id_refused padded_shards"),
    "tables too short, or positions stretched": (4, 13, "rows_of_ms rows_of_ms_whatever_the_ratio one_row_too_few "
        "one_step_only positions_stretched"),
    "a rotation for one shape": (4, 8, "along_heads along_heads_padded heads_for_positions_where_both_are_equal "
        "one_position_left_as_it_is one_head_refused"),
    "a zero taken for nothing": (4, 5, "vocab_std_zero_unheard shard_std_zero_unheard eps_of_zero_unheard "
        "no_gradient_of_zeros"),
    "16-bit angles": (5, 5, "angles_in_bfloat16 angles_in_the_tables_dtype"),
    "16 bits where a number needs more": (2, 7, "bfloat16_through_float16 ids_in_the_dtype_of_the_table "
        "eps_in_gamma_dtype rope_input_rounded"),
}  # fmt: skip
CASES = [(name, least, most) for least, most, names in COSTS.values() for name in names.split()]
QUICK = in_quick(CASES, 3)


@pytest.fixture(scope="module")
def mistakes() -> Mapping[str, Variant]:
    return {found.name.rpartition(".")[2]: found for _, found in subjects(("variants", "slips"), 1)}


@pytest.mark.parametrize(("name", "least", "most"), QUICK, ids=[name for name, *_ in QUICK])
def test_a_mistake_costs_what_a_lecturer_would_sign(
    mistakes: Mapping[str, Variant], name: str, least: float, most: float
) -> None:
    points = {identifier: prop.points for identifier, prop in ASSIGNMENT.rubric.properties.items()}
    mistake = mistakes[name]
    least_lost, most_lost = (
        sum(map(points.__getitem__, charged)) for charged in (mistake.breaks, mistake.breaks | mistake.also)
    )
    if most_lost > most:  # what it may cost says too little
        least_lost = most_lost = sum(map(points.__getitem__, lost(judged(mistake)[1])))
    assert least <= least_lost <= most_lost <= most


def test_tables_for_neighbours_cost_as_much_where_the_rotation_has_a_backward_of_its_own() -> None:
    angles = "rope_base rope_exact_angles"
    neighbours = slip("neighbours", angles, table_dtype="self.dtype)[:, torch.arange(self.dim) // 2].to(self.dtype")
    backward = slip("backward", "", rotary_wrap=ROTATION_WITH_BACKWARD)
    assert lost(judged(submission([neighbours, backward]))[1]) == {*angles.split()}
