"""The hidden tests on submissions whose fault is known: the right points are lost, and no others.

A variant differs from the reference in one piece, so the tests of that piece's task judge it. By default a fixed sample
covers every property, with a sixth of the valid variants; ``GRADER_LONG=1`` takes all, as ``grader verify`` does. Those
that are about devices are judged in ``test_devices.py``; of the valid ones, a few are judged here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import cycle

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.corpus.variants.slips import SLIPS, submission
from grader.core.messages import Message
from grader.core.results.outcome import FRAME, RAISED, CaseResult, Outcome
from grader.core.results.views import in_words
from grader.core.rubric import Rubric
from grader.lab.charges import lost, task_of
from grader.selftest import LONG, in_quick, some
from grader.selftest.fixtures import RunHiddenTests, hidden_tests_of
from grader.specimens.variants import Variant

VARIANTS = all_variants()
VALID = [variant for variant in VARIANTS if variant.valid]
WRONG = [variant for variant in VARIANTS if not variant.valid and ".devices." not in variant.name]
WRONG_ON_A_DEVICE = [variant for variant in VARIANTS if not variant.valid and ".devices." in variant.name]
SLOW = "sequence_taken_to_be_dimension_two"  # multiplies [4112, 4112]; ten seconds for what others show as well

# Two English words in a row; and what a message about a wrong tensor has to say.
ENGLISH = re.compile(r"\b[A-Za-z']{2,} [A-Za-z']{2,}\b")
WRONG_TENSOR = re.compile(r": shape \[[\d, ]+\], \d+ of \d+ elements wrong, the first at \[[\d, ]+\]; .")


# What a message says, besides the place, about some of them.
TOLD = {
    "exact_fraction": "the tables used are those of ratio 1.17",
    "positions_from_one": "position 0 is rotated as position 1 should be, position 1 as position 2",
    "exponents_not_doubled": "pair by pair, the angles are 1, ",
    "both_plus": "(1, 0) becomes (0, 1); (0, 1) becomes (1, 0)",
    "halves_returned_swapped": "in the wrong places: those of features 4, 5, 6, 7, 0, 1, 2, 3, in this order",
    "wrong.rotary.only_the_first_half_rotated": "with 128 features, those at 64–127 stay as they were",
    "wrong.rotary.pairs_four_apart_at_most": "for head_dim=2, 4, 8 it is right",
    "wrong.rotary.last_position_left_out": "of dimension 1: 2; where it is wrong, it is the input, unchanged",
    "wrong.rotary.bfloat16_through_float16": "the largest number of this input is 3e+05",
    "wrong.rotary.second_half_from_the_new_first": "it was overwritten",
    "wrong.rotary.turned_half_detached": "only the part through the cosines arrives",
    "wrong.rope_growth.growth_appends_rows": "different ratios: 0–5 (ratio 1), 6–23 (ratio 4), 24–42 (ratio 8)",
    "wrong.rope_tables.plain_tensors_after_growth": "the registered buffers hold 0 numbers, too few for 43 positions",
    "wrong.rope_tables.sequence_length_of_the_heads": "the number of table rows used is the number of heads",
    "wrong.rope_tables.tables_for_neighbouring_pairs": "the angle of each pair is in two neighbouring columns",
    "adjacent_pairs": "with 4 features, your pairs are (0, 1), (2, 3); each pair turns by +angle",
    "reversed_positions": "positions use the angles of positions [1, 0]",
    "start_one_late": "ids that give nonzero rows, with world_size=3: rank 0: 1–10 | rank 1: 11–20 | rank 2: 21–29",
    "eps_squared": "for features of magnitude 0.5, hidden_size=24, group_size=4, eps=0.75",
    "vocab_cached": "update of the parameter, a call with int64 input of shape [4, 12] gives",
    "wrong.norm_and_vocab_habits.output_of_the_same_tensor": "with a new tensor for every call it is right",
    "vocab_cached_table": "than on a new module; it still uses the parameter's value from before the last update",
    "angles_in_bfloat16": "as if positions had been rounded to bfloat16",
    "wrong.norm_arithmetic.buffer_reused_without_gradients": "This fails under torch.no_grad(), whatever the mode",
    "wrong.rotary.input_reused_without_gradients": "This fails under torch.no_grad(), whatever the mode",
    "wrong.refusals.norm_without_its_fast_path": "This fails under torch.no_grad(), whatever the mode",
    "wrong.conditions.norm_raises_in_evaluation": "in train mode it passes: look for self.training.",
    "wrong.conditions.norm_without_gradient_in_evaluation": "no gradient reaches the input\nThis fails in eval mode",
    "wrong.conditions.mask_of_as_many_elements": "on a new module it does not; after a call with float32 input",
    "wrong.conditions.one_group_without_gamma": "for hidden_size=6, group_size=2 it is right",
    "wrong.conditions.reset_in_the_dtype_of_the_constructor": "which has to draw into the existing parameter",
    "wrong.conditions.gradient_turned_further": "it must turn back, by -angle: the sine changes its sign",
    "wrong.shared.eps_of_the_latest_module": "after the construction of a module with other arguments",
    "wrong.shared.seed_of_the_latest_rank": "alone, in a new process, these are right",
    "wrong.conditions.ids_in_the_dtype_of_the_table": "with a float32 table, the same ids give their own rows",
    "wrong.rope_oversights.ratio_unheard": "1, 2 times the expected values; the tables used are those of ratio 1",
    "wrong.rope_oversights.whole_exponent": "for dim=4, base=500000 it is right",
    "wrong.rope_oversights.only_the_first_growth_is_kept": "after s = 43 alone it is right",
    "wrong.refusals.only_too_large_groups_are_refused": "group_size=16 is too large and is refused",
    "wrong.norm_arithmetic.own_backward_with_a_sum_for_the_mean": "root mean square is 4 times what it should be",
    "wrong.norm_arithmetic.always_in_bfloat16": "every element is a bfloat16 number",
    "wrong.norm_arithmetic.mean_in_bfloat16": "errors of this size come from rounding to bfloat16",
    "wrong.norm_groups.last_incomplete_chunk_dropped": "only the last 6 of 134 tokens are wrong",
    "wrong.vocab.first_half_without_gradient": "the right gradient, but zeros in features 0–2",
    "wrong.vocab.ranks_of_ids_for_ids": "as unique() numbers them, from row 0 on",
    "wrong.shard_rows.remainder_by_one_less": "an id of its own gives row id % 9 of the shard",
    "wrong.shard_rows.mask_of_the_first_row": "each rank goes by the id at [0, j]",
    "wrong.shard_rows.rows_halved_where_all_are_owned": "in the same call, own ids give the right rows",
    "wrong.shard_rows.shard_size_from_the_rank": "its shape is [30, 5]",
    "wrong.shard_rows.foreign_ids_give_the_mean": "init_mean=3",
    "wrong.rope_growth.counted_from_the_extended_length": "the k' used for s = 25, 31, 36, 49, 72 are 8, 8, 8, 16, 16",
    "wrong.refusals.hot_rows_of_the_ids_met": "The table has 300 rows; the largest id of this call is ",
}


def sample(variants: Iterable[Variant]) -> list[Variant]:
    """Those that are named above, and enough for every property to be lost."""
    chosen: dict[str, Variant] = {}
    seen: set[str] = set()
    for variant in sorted(variants, key=lambda variant: variant.name not in TOLD):
        if variant.name in TOLD or (not variant.breaks <= seen and not variant.name.endswith(SLOW)):
            chosen[variant.name] = variant
            seen |= variant.breaks
    return list(chosen.values())


TOLD_SLIPS = [submission([slip]) for slip in SLIPS if slip.name in TOLD]
SAMPLE = [*TOLD_SLIPS, *WRONG] if LONG else sample([*TOLD_SLIPS, *WRONG])
ABOUT_DEVICES = [variant for variant in VALID if ".devices." in variant.name]
RIGHT = VALID if LONG else [*[variant for variant in VALID if variant not in ABOUT_DEVICES][::6], *ABOUT_DEVICES[::15]]


@pytest.mark.parametrize("variant", in_quick(SAMPLE, 4), ids=lambda variant: variant.name)
def test_a_wrong_variant_loses_what_it_breaks_and_is_told_it(judge: RunHiddenTests, variant: Variant) -> None:
    results = judge(variant.files, task_of(variant))
    missing = lost(results)
    assert variant.breaks <= missing, variant.description
    assert missing <= variant.breaks | variant.also, variant.description
    told = (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_IMPLEMENTED)
    failed = [result.message for result in results if result.outcome in told]
    assert any(TOLD.get(variant.name, "") in message for message in failed), failed
    for result in results:
        check_wording(result)


def check_wording(result: CaseResult) -> None:
    """A wrong tensor is described by its shape and the place, in either language, and nothing else stays English."""
    if result.outcome is not Outcome.FAILED:
        return
    ours = Message(*(part for part in result.message.parts if part.key not in (RAISED, FRAME)))
    chinese = in_words(ours, ASSIGNMENT, "zh")
    assert chinese != ours
    assert ENGLISH.findall(chinese) == [], chinese
    if result.error_ulp is not None and "rounding" not in result.message:
        assert WRONG_TENSOR.search(result.message), result.message


@pytest.mark.parametrize("variant", in_quick(RIGHT, 3), ids=lambda variant: variant.name)
def test_a_valid_variant_loses_nothing(judge: RunHiddenTests, variant: Variant) -> None:
    assert lost(judge(variant.files, task_of(variant))) == set(), variant.description


def test_the_sample_shows_every_property_and_the_corpus_every_misconception(rubric: Rubric) -> None:
    broken = {identifier for variant in [*SAMPLE, *WRONG_ON_A_DEVICE] for identifier in variant.breaks}
    assert broken == set(rubric.properties)
    shown = {hint for variant in WRONG for hint in variant.hints} | {hint for slip in SLIPS for hint in slip.hints}
    assert shown >= {misconception.id for misconception in rubric.misconceptions}


def test_variants_have_names_of_their_own_and_ids_that_exist(rubric: Rubric) -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    known = {misconception.id for misconception in rubric.misconceptions}
    for variant in VARIANTS:
        assert variant.breaks | variant.also <= rubric.properties.keys(), variant.name
        assert variant.hints <= known, variant.name
        assert variant.valid == (not variant.breaks), variant.name
        assert variant.files != ASSIGNMENT.solution(), variant.name


@pytest.mark.slow
@pytest.mark.parametrize("seed", some([20260901, 1, 2], 3))
def test_the_reference_passes_with_other_seeds(rubric: Rubric, seed: int) -> None:
    results = hidden_tests_of(ASSIGNMENT, seed=seed)(ASSIGNMENT.solution())
    assert {result.property_id for result in results} == set(rubric.properties)
    assert lost(results) == set()


def test_every_case_has_a_name_of_its_own(judge: RunHiddenTests) -> None:
    results = judge(ASSIGNMENT.solution())
    identities = [(result.property_id, result.id) for result in results]
    assert len(set(identities)) == len(identities)


ROPE = "src/modeling/pos_emb.py"

NOTHING = """
import torch
from torch import nn

class Nothing(nn.Module):
    def __init__(self, *sizes, emb_size=1, **options):
        super().__init__()
        self.e = emb_size

    def reset_parameters(self):
        pass

    def rows(self, ids):
        return {rows}

    def forward(self, input):
        return {result} if input.is_floating_point() else self.rows(input)

GroupRMSNorm = VocabEmbedding = ParallelVocabEmbedding = NTKAwareRoPE = Nothing

def apply_rotary_pos_emb(input, cos, sin):
    return {result}
"""
RESULTS = {
    "the_input": "input",
    "a_copy": "input.clone()",
    "zeros": "torch.zeros_like(input)",
    "ones": "torch.ones_like(input)",
    "the_input_doubled": "input * 2",
    "a_share_of_the_input": "input / 8",
}
ROWS = {"zeros": "torch.zeros(*ids.shape, self.e)", "ones": "torch.ones(*ids.shape, self.e)"}


def everywhere(source: str) -> dict[str, str]:
    files = {task.file_of(name) for task in ASSIGNMENT.rubric.tasks for name in task.names}
    return dict.fromkeys(files, source)


CASES = [
    pytest.param(result, rows, id=name)
    for (name, result), rows in zip(RESULTS.items(), cycle(ROWS.values()), strict=False)  # independent of each other
]


@pytest.mark.slow
@pytest.mark.parametrize(("result", "rows"), some(CASES, 3))
def test_doing_nothing_earns_nothing(judge: RunHiddenTests, result: str, rows: str) -> None:
    files = everywhere(NOTHING.format(result=result, rows=rows))
    assert lost(judge(files)) == set(ASSIGNMENT.rubric.properties)


@pytest.mark.parametrize("task", ["task2", "task3"])
def test_a_crash_stays_a_crash(judge: RunHiddenTests, task: str) -> None:
    """Rows that nobody has seen are no zeros, and no hint speaks of them."""
    name = next(iter(ASSIGNMENT.rubric.only(task).tasks[0].names))
    files = {**submission(()).files}
    files["src/modeling/vocab_emb.py"] += f"""
def forward(self, input_ids):
    raise OSError("no such layer")

{name}.forward = forward
"""
    own = ASSIGNMENT.rubric.only(task).properties
    no_loss = (Outcome.PASSED, Outcome.NOT_ASSESSED)  # the judge in this process has no second device
    failed = [case for case in judge(files, task) if case.property_id in own and case.outcome not in no_loss]
    assert {case.outcome for case in failed} == {Outcome.CRASHED}
    assert [case.message for case in failed if "OSError: no such layer" not in case.message] == []


GAMMA_ALONE: Mapping[str, str] = {
    "x_times_gamma": "(x * self.gamma).to(input.dtype)",
    "gamma_alone": "(0 * x + self.gamma).to(input.dtype)",
    "zeros": "(0 * x * self.gamma).to(input.dtype)",
}


@pytest.mark.parametrize("result", GAMMA_ALONE.values(), ids=GAMMA_ALONE)
def test_a_gamma_that_is_drawn_right_earns_that_and_no_more(judge: RunHiddenTests, result: str) -> None:
    files = {**submission(()).files}
    path = "src/modeling/norm.py"
    files[path] += f"""
def forward(self, input):
    x = input.float()
    return {result}

GroupRMSNorm.forward = forward
"""
    kept = set(ASSIGNMENT.rubric.only("task1").properties) - lost(judge(files, "task1"))
    assert kept <= {"norm_init_and_reset", "norm_registration_and_arguments", "norm_sizes_named"}


def test_what_is_asked_of_a_file_that_is_not_there_is_missing_and_the_rest_keeps_its_points(
    judge: RunHiddenTests,
) -> None:
    """The rotation stands in ``pos_emb.py``, as in an earlier course: missing, and no rotation that does not turn."""
    files = ASSIGNMENT.solution()
    rotation = files.pop("src/functional.py")
    files[ROPE] = files[ROPE].replace(
        "from ..functional import apply_rotary_pos_emb", rotation[rotation.index("def ") :]
    )
    failed = [case for case in judge(files) if case.outcome not in (Outcome.PASSED, Outcome.NOT_ASSESSED)]
    assert lost(failed) == {name for name in ASSIGNMENT.rubric.properties if name.startswith("rotary_")}
    assert {case.outcome for case in failed} == {Outcome.MISSING}
    assert all("src/functional.py" in case.message for case in failed)
