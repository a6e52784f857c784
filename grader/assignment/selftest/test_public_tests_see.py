"""What the public tests see: nothing wrong in right submissions, and in wrong ones every property that is lost.

A sample of variants, slips, combined styles and mutants' sources; ``GRADER_LONG=1`` takes all.
"""

from __future__ import annotations

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.corpus.variants.slips import SLIPS, combined_styles, submission
from grader.core.rubric import Task
from grader.lab.charges import task_of
from grader.lab.mutants.mutants import sources
from grader.lab.signatures.public_tests import PublicTests
from grader.selftest import LONG
from grader.specimens.variants import Variant

pytestmark = pytest.mark.slow
STEP = 1 if LONG else 36
TASKS = ASSIGNMENT.rubric.tasks
MIXED = "_mixed_devices"
UNSEEN = {
    # Nothing turns: these tests compare one rotation with another.
    ("not_turned", "rotary_broadcast"),
    ("not_turned", "rotary_dtype"),
    ("not_turned", "rotary_purity"),
    # Calls of a module remember: its tables are changed by the function.
    ("tables_in_place", "rope_buffers"),
    ("wrong.rotary.signs_written_into_the_table", "rope_buffers"),
    # Shows beside a module of another ratio only.
    ("wrong.shared.tables_of_the_first_ratio", "rope_buffers"),
    # Show for four features with two angles, for a gradient of 16 bits with other tables, and between two static calls.
    ("wrong.rotary.columns_for_neighbours_of_four", "rotary_pairing_and_sign"),
    ("wrong.rotary.converted_without_gradient", "rotary_backward"),
    ("wrong.rope_oversights.positions_go_on", "rope_static"),
    # Shows with 16-bit tables and a float32 input only.
    ("rope_input_rounded", "rope_boundary"),
    # Shows at half a turn only.
    ("wrong.rotary.undefined_at_half_a_turn", "rotary_pairing_and_sign"),
    # Shows with 49 ranks only.
    ("start_by_a_quotient", "shard_owned_ids"),
    # Shows with an eps that float16 does not hold, with inputs beyond 10,000, with float32 rows in evaluation,
    # with a frozen table, with a call of foreign ids alone.
    ("eps_in_input_dtype", "norm_float32_inside"),
    ("input_clamped", "norm_float32_inside"),
    ("half_in_evaluation", "vocab_lookup"),
    ("half_where_the_table_is_frozen", "vocab_lookup"),
    ("own_id_needed", "shard_zeros_elsewhere"),
    # Right but for one condition: one group, another shape, no gradients, a conversion and a reset, evaluation,
    # ids in a column, queries that were transposed, groups of zeros.
    ("wrong.conditions.one_group_without_gamma", "norm_gamma"),
    ("wrong.conditions.shape_of_the_first_input", "norm_purity"),
    ("wrong.refusals.norm_without_its_fast_path", "norm_purity"),
    ("wrong.refusals.no_gradient_of_zeros", "norm_backward"),
    ("root_taken_twice", "norm_backward"),
    ("wrong.conditions.reset_in_the_dtype_of_the_constructor", "vocab_dtype_and_registration"),
    ("wrong.refusals.foreign_rows_in_evaluation", "shard_zeros_elsewhere"),
    ("wrong.refusals.shard_of_several_positions", "shard_owned_ids"),
    ("wrong.refusals.pairs_in_a_view", "rotary_broadcast"),
    # Large groups of odd sizes, one group of several batch rows, a gamma of zero, many more ids than a rank has.
    ("pieces_of_64_alike", "norm_groups"),
    ("rest_left_out", "norm_groups"),
    ("sizes_of_one_squeezed", "norm_groups"),
    ("gamma_in_parts", "norm_backward"),
    ("rows_in_a_byte", "shard_zeros_elsewhere"),
    # Small groups beside large ones, and a module that is moved after a call.
    ("wrong.norm_arithmetic.differences_of_a_running_sum", "norm_float32_inside"),
    ("wrong.devices.norm_gamma_kept_for_each_device", "norm_mixed_devices"),
    # Show with another module or call, and far from position 0.
    ("wrong.shared.first_tables_of_as_many_positions", "rope_buffers"),
    ("wrong.rotary.one_output_for_each_shape", "rotary_purity"),
    ("wrong.rope_tables.frequencies_in_five_decimals", "rope_exact_angles"),
    # Shows with tables of 129 to 256 rows only.
    ("byte_ids", "vocab_lookup"),
    # Another mean than 0, and odd ratios of dynamic modules alone.
    ("wrong.shard_rows.foreign_ids_give_the_mean", "shard_zeros_elsewhere"),
    ("wrong.rope_growth.dynamic_ratios_may_be_odd", "rope_dynamic"),
}
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)


@pytest.fixture(scope="module")
def public_tests() -> PublicTests:
    return PublicTests()


def variants(task: Task) -> list[Variant]:
    return [variant for variant in all_variants() if task_of(variant) == task.id][::STEP]


@each_task
def test_right_submissions_pass(public_tests: PublicTests, task: Task) -> None:
    names = [prop.id for prop in task.properties]
    right = {variant.name: variant.files for variant in variants(task) if variant.valid}
    combined = map(submission, combined_styles()[::STEP])
    right |= {variant.name: variant.files for variant in combined if task_of(variant) == task.id}
    right |= dict([*sources().items()][::STEP])  # the reference, and styles that share no text with it
    # On the CPU: the device that this process simulates lacks what some of them use there.
    assert {name: [*found] for name, files in right.items() if (found := public_tests.signatures(files, names))} == {}


@each_task
def test_wrong_submissions_fail_a_test_of_each_property_that_they_lose(public_tests: PublicTests, task: Task) -> None:
    own = {prop.id for prop in task.properties}
    wrong = [(variant.name, variant.files, variant.breaks) for variant in variants(task) if variant.breaks]
    wrong += [(one.name, submission([one]).files, one.properties) for one in SLIPS[::STEP] if one.properties <= own]
    unseen = {(name, lost) for name, files, breaks in wrong for lost in breaks - public_tests.failing(files, breaks)}
    # With a second device, public tests look for what it is moved to, and not for all that hidden tests ask there.
    unseen = {pair for pair in unseen if ".devices." not in pair[0] or pair[1].endswith(MIXED)}
    assert unseen == UNSEEN & {(name, lost) for name, _, breaks in wrong for lost in breaks}
