"""How a submission is read: each reading is shown on a mistake that it must see, and on code where it must not.

Slips, combined styles and pairs are a sample, a larger one with ``GRADER_LONG=1``; ``grader.lab.charges`` takes all.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grader.assignment import ASSIGNMENT, oracle
from grader.assignment.corpus.variants.slips import SLIPS, Slip, combined_styles, pairs_of_slips, submission
from grader.assignment.model.differences import check_differences, slopes
from grader.assignment.model.histories import Step, check_history
from grader.assignment.model.normalising import CONTRACT, Law, normalising
from grader.assignment.model.rotation import CONVENTIONS, Convention, module_student, rotation, turned
from grader.assignment.model.rows import Rows
from grader.core.judge.faults import WrongAnswer
from grader.core.judge.student import Student
from grader.core.judge.student_objects import StudentModule
from grader.core.messages import quoted
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.lab.charges import Charge, charge, figures, line, task_of
from grader.selftest import LONG

STEP = 9 if LONG else 27
RUBRIC = ASSIGNMENT.rubric
BY_NAME = {slip.name: slip for slip in SLIPS}


def student_with(*names: str) -> Student:
    files = submission([BY_NAME[name] for name in names]).files
    return Student(files, InProcessWorker, RUBRIC, Limits(submission_s=1e6))


@pytest.mark.parametrize(
    ("slips", "law"),
    [
        ((), CONTRACT),
        (("whole",), Law("whole")),
        (("sum",), Law("own", "sum")),
        (("count", "one_plus_gamma"), Law("count")),
        (("strided", "eps_outside"), Law("strided")),
        (("mean_of_magnitudes", "another_output_in_eval"), Law("own", "mean_magnitude")),
        (("over_the_sequence",), None),
    ],
    ids=lambda value: "+".join(value) or "contract" if isinstance(value, tuple) else "",
)
def test_the_law_that_outputs_follow_is_read_beside_other_mistakes(slips: tuple[str, ...], law: Law | None) -> None:
    assert normalising(student_with(*slips)).law == law


@pytest.mark.parametrize("convention", CONVENTIONS[1:4], ids=lambda convention: convention.name)
def test_each_convention_is_read_and_what_the_module_passes_on_is_turned_that_way(convention: Convention) -> None:
    """The judge rotates in place of a rotation that cannot carry the module."""
    name = {"rotary_opposite_angle": "opposite_angle", "rotary_swapped_tables": "swapped_tables"}
    student = student_with(name.get(convention.name, "adjacent_pairs"), "promoted")
    read = rotation(student)
    assert read.convention is not None
    assert read.convention.name == convention.name
    assert not read.carries
    judged, followed = module_student(student)
    assert judged is not student
    assert followed == read.convention
    x = torch.arange(24.0).reshape(1, 3, 1, 8)
    module = judged.NTKAwareRoPE(dim=8, max_seq_len=4, base=16, ratio=1, dynamic=False)
    angles = oracle.ntk_angles(8, 16, 1, 3).repeat(1, 2)
    expected = followed.rotate(x, angles.cos(), angles.sin())
    assert torch.allclose(turned(module, x, "cpu", followed), expected, atol=1e-4)
    output, (x_passed_on, cos, _), _ = module.recorded(x)
    assert torch.equal(output, x)
    assert torch.equal(x_passed_on, x)
    assert torch.allclose(cos.double(), angles.cos(), atol=1e-4)


def test_a_right_rotation_carries_its_own_module() -> None:
    student = student_with()
    assert module_student(student)[0] is student


def test_differences_give_the_gradient() -> None:
    x = torch.tensor([1.0, -2.0, 3.0])
    found = slopes(lambda moved: moved.double().square(), x, torch.tensor([1.0, 1.0, -1.0])).mean(0)
    assert torch.allclose(found, torch.tensor([2.0, -4.0, -6.0], dtype=torch.float64), rtol=1e-4)


def test_a_gradient_may_be_any_between_the_slopes_of_a_bend_and_no_other() -> None:
    x, ones = torch.tensor([1.0, 2.0]), torch.ones(2)

    def bent(moved: Tensor) -> Tensor:
        return moved.double().clamp(min=1.0)

    for slope in (0.0, 0.5, 1.0):
        check_differences(torch.tensor([slope, 1.0]), bent, x, ones, quoted("gradient"))
    for wrong in (torch.tensor([1.2, 1.0]), torch.tensor([0.0, 0.5])):
        with pytest.raises(WrongAnswer, match="compared with finite differences"):
            check_differences(wrong, bent, x, ones, quoted("gradient"))


def history(*names: str) -> None:
    student = student_with(*names)
    x = torch.arange(48.0).reshape(1, 2, 24).sin()

    def make(values: tuple[Tensor, ...]) -> StudentModule:
        return student.GroupRMSNorm(hidden_size=24, group_size=4).assign(*values)

    updated = Step(update=(torch.ones(24),))
    steps = [Step(mode=False), Step(input=x), Step(input=x[:, :1]), updated, Step(input=4 * x**3)]
    check_history(make, steps, (torch.full((24,), 2.0),), student.excuse)


def test_a_failing_history_is_cut_down_to_what_it_takes() -> None:
    with pytest.raises(
        WrongAnswer,
        match=r"^after a call with float32 input of shape \[1, 2, 24\], a call with float32 input .*; "
        r"after a call with float32 input of shape \[1, 1, 24\] it is right$",
    ):
        history("cached_rms")


def test_pairs_break_different_properties_in_different_steps() -> None:
    pairs = pairs_of_slips()
    assert len(pairs) > 1000
    for first, second in pairs:
        assert not first.properties & second.properties
        assert not first.steps.keys() & second.steps.keys()


def test_slips_have_names_of_their_own_and_ids_that_exist() -> None:
    assert len(BY_NAME) == len(SLIPS)
    known = {misconception.id for misconception in RUBRIC.misconceptions}
    for slip in SLIPS:
        assert slip.properties <= RUBRIC.only(task_of(submission([slip]))).properties.keys(), slip.name
        assert slip.hints <= known, slip.name


def names_of(slips: tuple[Slip, ...]) -> str:
    return "+".join(slip.name for slip in slips)


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS[::STEP], ids=lambda slip: slip.name)
def test_a_slip_costs_what_it_breaks_and_nothing_else(slip: Slip) -> None:
    found = charge("slips", submission([slip]))
    assert found.exact, line(found)
    assert not found.wrong_hints


@pytest.mark.slow
@pytest.mark.parametrize("styles", combined_styles()[::STEP], ids=names_of)
def test_other_right_steps_cost_nothing(styles: tuple[Slip, ...]) -> None:
    found = charge("valid", submission(styles))
    assert found.exact, line(found)


@pytest.mark.slow
@pytest.mark.parametrize("pair", pairs_of_slips()[:: 100 * STEP], ids=names_of)
def test_two_slips_are_both_charged(pair: tuple[Slip, Slip]) -> None:
    assert charge("pairs", submission(pair)).caught


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        *("largest_magnitude+gamma_shared", "eps_on_reciprocal+rounded_before_gamma"),
        *("id_zero_refused+vocab_gradient_once", "normalised_rows+vocab_cached_table"),
        *("normalised_rows+vocab_table_in_place", "rows_through_float32+vocab_mean_default"),
        *("last_id_refused+vocab_cached", "clamped+float32_zeros", "padded_shards+gradient_of_foreign_ids"),
        *("start_of_world+unmasked_where_most_ids_are_own_in_evaluation", "start_of_world+own_id_needed"),
        *("start_of_world+float32_zeros", "strided_ownership+tiny_elsewhere"),
        *("rows_put_into_float32+shard_kept_in_evaluation", "eps_as_a_floor_of_the_root+eps_default"),
        *("eps_ignored+eps_in_input_dtype", "not_turned+rope_dtype_ignored"),
        *("refuses_bfloat16+tables_cast_to_the_input", "rows_of_ms+exact_fraction"),
        *("one_plus_gamma+view_of_the_input", "gamma_reversed+cached_rms", "count+eps_default"),
        *("sizes_of_one_squeezed+gamma_shared", "plain_tensor+drawn_by_the_first_call"),
        "start_of_world+rows_in_a_byte",
        *("positions_from_one+rope_input_rounded", "rows_of_ms+one_step_only"),
        "growth_keeps_the_base+last_row_of_long_calls_in_evaluation",
    ],
)
def test_two_slips_that_hide_each_other_are_charged_exactly(names: str) -> None:
    found = charge("pairs", submission([BY_NAME[name] for name in names.split("+")]))
    assert found.exact, line(found)
    assert not found.wrong_hints


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("eps_as_a_floor_of_the_root", "scaled_rows", "normalised_rows", "vocab_drawn_transposed"),
        *("strided_ownership", "rows_over_world", "shard_cut_out_of_a_table", "small_instead_of_zero"),
        *("gradient_of_foreign_ids", "grows_beyond_ms", "rows_of_ms", "ratio_from_es"),
    ],
)
def test_a_mistake_is_named_by_what_its_cases_show(name: str) -> None:
    found = charge("slips", submission([BY_NAME[name]]))
    assert set(found.named.values()) == BY_NAME[name].hints


def test_a_refused_id_says_nothing_of_the_other_rows() -> None:
    given = torch.tensor([[torch.nan, torch.nan], [1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    rows = Rows(given, torch.tensor([-1, 1, -1]), 3)
    assert rows.only_rows
    assert not replace(rows, given=given.nan_to_num(1.0)).only_rows


def test_the_figures_count_what_is_missed_what_is_too_much_and_wrong_hints() -> None:
    wrong = submission([BY_NAME["sum"]])
    right = Charge("slips", wrong, frozenset({"norm_groups"}), {"norm_groups": "norm_sum_for_mean"})
    missed = Charge("slips", wrong, frozenset(), {})
    two = frozenset({"norm_groups", "norm_eps_inside_sqrt"})
    more = Charge("slips", wrong, two, {"norm_groups": "norm_eps_absent"})
    assert (right.caught, right.exact, right.wrong_hints) == (True, True, {})
    assert (missed.caught, missed.exact) == (False, False)
    assert (more.caught, more.exact, more.wrong_hints) == (True, False, {"norm_groups": "norm_eps_absent"})
    assert figures([right, missed, more]).splitlines()[1].split() == ["slips", "3", "2", "1", "1"]
    assert "too many, norm_eps_inside_sqrt" in line(more)
    assert "missed norm_groups" in line(missed)
