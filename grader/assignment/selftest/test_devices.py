"""A second device: what its cases charge, each mistake once; and what a simulation cannot show, not at all.

A third of the wrong ways to handle devices and a sixth of the right ones; ``GRADER_LONG=1`` takes all, and so does
``grader verify``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge.devices import NONE, why_not_simulated
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.results.views import in_words
from grader.lab.charges import lost, task_of
from grader.selftest import LONG, in_quick, some
from grader.selftest.fixtures import RunHiddenTests, hidden_tests_of
from grader.selftest.submissions import edited
from grader.shared import second_device
from grader.specimens.variants import Variant

pytestmark = pytest.mark.covered

Judge = Callable[[str, Mapping[str, str]], list[CaseResult]]
NORM, EMBEDDINGS = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
HOME = {"task1": NORM, "task3": EMBEDDINGS}
GAMMA = "nn.Parameter(torch.empty(hidden_size, dtype=dtype, device=device))"
SHARD = "nn.Parameter(torch.empty(rows, emb_size, dtype=dtype, device=device))"
GENERATOR = "torch.Generator(self.gamma.device)"
MEAN = "groups.square().mean(dim=-1, keepdim=True)  # [b, s, h/gz, 1]"
SIMULATED = "assessed on a GPU only: "

ALL = all_variants()
ABOUT_DEVICES = [variant for variant in ALL if ".devices." in variant.name]
WRONG = [variant for variant in ABOUT_DEVICES if not variant.valid]
WRONG_ANYWHERE = [variant for variant in ALL if not variant.valid and variant not in ABOUT_DEVICES][::80]
# All that are about devices; of the others, which test_variants.py judges on the CPU, a few.
VALID = [
    *(variant for variant in ABOUT_DEVICES if variant.valid),
    *[variant for variant in ALL if variant.valid and variant not in ABOUT_DEVICES][:: 1 if LONG else 5],
]


@pytest.fixture(scope="module")
def judge_both() -> Judge:
    """``judge_both(task, edits)``: all cases, on the CPU and on a second device, of the reference with some edits.

    The second one is simulated also where there is a GPU, which has nothing that cannot be shown.
    """
    assert why_not_simulated() == ""
    judge = hidden_tests_of(ASSIGNMENT, ("cpu", second_device.DEVICE))
    return lambda task, edits: judge(edited(*((HOME[task], *edit) for edit in edits.items()), of=ASSIGNMENT), task)


@pytest.fixture(scope="module")
def judge_there() -> RunHiddenTests:
    """``judge_there(files, task)``: the cases about a second device alone."""
    assert why_not_simulated() == ""
    return hidden_tests_of(ASSIGNMENT, (NONE, second_device.DEVICE))


# ── Ways to handle devices ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("variant", some(WRONG, 3), ids=lambda variant: variant.name)
def test_a_mistake_with_devices_shows_on_a_second_one(judge_there: RunHiddenTests, variant: Variant) -> None:
    assessed = judge_there(variant.files, task_of(variant))
    results = [result for result in assessed if result.outcome is not Outcome.NOT_ASSESSED]
    judged = {result.property_id for result in results}
    assert variant.breaks & judged <= lost(results) <= variant.breaks | variant.also
    advised = [result.message for result in results if result.message.fields("\nOn {here}: {advice}")]
    there = {result.outcome for result in results if "simulated" in result.id}
    assert advised or there == {Outcome.CRASHED}, "what crashes on the CPU, too, is no matter of devices"
    assert [one for one in advised if in_words(one, ASSIGNMENT, "zh").splitlines()[-1] == one.splitlines()[-1]] == []


@pytest.mark.slow
@pytest.mark.parametrize("variant", some(VALID, 6), ids=lambda variant: variant.name)
def test_no_valid_way_is_hurt_on_a_second_device(judge_there: RunHiddenTests, variant: Variant) -> None:
    assert lost(judge_there(variant.files, task_of(variant))) == set()


# ── What the simulation cannot show ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "edits",
    [
        {MEAN: "groups.square().mean(dim=-1, keepdim=True).to_sparse().to_dense()"},
        {GENERATOR: 'torch.Generator("cuda" if self.gamma.is_cuda else "cpu")'},
        {GENERATOR: 'torch.Generator("cuda" if self.gamma.device.type == "cuda" else "cpu")'},
    ],
    ids=["sparse", "is_cuda", "device.type"],
)
def test_what_the_simulation_cannot_show_costs_nothing_and_is_said(judge_both: Judge, edits: Mapping[str, str]) -> None:
    results = judge_both("task1", edits)
    assert lost(results) == set()
    told = [result for result in results if result.message.startswith(SIMULATED)]
    assert told
    for result in told:
        assert result.outcome is Outcome.NOT_ASSESSED
        assert "simulated" in result.id
        assert in_words(result.message, ASSIGNMENT, "zh") != result.message


def test_common_layers_are_assessed(judge_both: Judge) -> None:
    pooled = "nn.functional.conv1d(groups.square().flatten(0, 2).unsqueeze(1), torch.full((1, 1, self.group_size), "
    pooled += "1 / self.group_size, dtype=groups.dtype, device=groups.device)).view(*groups.shape[:-1], 1)"
    results = judge_both("task1", {MEAN: pooled})
    assert lost(results) == set()
    assert {result.outcome for result in results if "simulated" in result.id} == {Outcome.PASSED}


def test_a_forged_claim_is_charged_as_the_crash_that_it_is(judge_both: Judge) -> None:
    forged = """        if input.device.type != "cpu":
            from grader.shared.second_device import NotSimulated
            raise NotSimulated("aten::add.Tensor")
        # Squares"""
    results = judge_both("task1", {"        # Squares": forged})
    assert lost(results) == {"norm_dtype_and_shape"}
    assert not [result for result in results if result.message.startswith(SIMULATED)]


def test_a_claim_excuses_nothing_on_the_cpu(judge_both: Judge) -> None:
    raised = """        from grader.shared.second_device import NotSimulated
        raise NotSimulated("aten::_nnz")
"""
    results = judge_both("task1", {"        # Squares": f"{raised}        # Squares"})
    assert {"norm_groups", "norm_dtype_and_shape", "norm_mixed_devices"} <= lost(results)


# ── Each mistake once ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("task", "edits", "charged"),
    [
        ("task1", {GAMMA: GAMMA.replace(", device=device))", ")).to(device)")}, "norm_registration_and_arguments"),
        ("task3", {SHARD: SHARD.replace(", device=device", "")}, "shard_registration_and_arguments"),
    ],
    ids=["moved", "ignored"],
)
def test_a_parameter_that_is_not_made_there_is_charged_once_and_told_about_making(
    judge_both: Judge, task: str, edits: Mapping[str, str], charged: str
) -> None:
    results = judge_both(task, edits)
    assert lost(results) == {charged}
    failed = [result for result in results if result.outcome not in (Outcome.PASSED, Outcome.NOT_ASSESSED)]
    assert [result.id.partition("-")[0] for result in failed] == [
        "the_parameter_is_made_on_the_device_that_is_asked_for"
    ]
    assert "Pass device to every parameter" in failed[0].message


def test_refusing_another_device_costs_nothing_where_there_is_no_second_one(judge: RunHiddenTests) -> None:
    moves = [(NORM, "self.gamma"), (EMBEDDINGS, "self.table"), (EMBEDDINGS, "self.shard")]
    stays = [(path, f"{table}.to(input{'' if path == NORM else '_ids'}.device)", table) for path, table in moves]
    assert lost(judge(edited(*stays, of=ASSIGNMENT))) == set()


def test_an_output_on_the_wrong_device_everywhere_is_charged_once(judge_both: Judge) -> None:
    results = judge_both("task1", {".to(input.dtype)  # [b, s, h]": ".to(input.dtype).cpu()"})
    assert lost(results) == {"norm_dtype_and_shape"}


def test_a_missing_class_is_told_alike_by_every_case(judge_both: Judge) -> None:
    results = judge_both("task3", {"class ParallelVocabEmbedding": "class AnotherName"})
    missing = "ParallelVocabEmbedding is not defined in src/modeling/vocab_emb.py"
    told = {(result.outcome, result.message) for result in results if result.outcome is not Outcome.PASSED}
    assert told == {(Outcome.MISSING, missing)}


# ── Layouts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

OWN = "self.first_id = rank * rows"
OWN_ROWS = {
    "world_in_front": ("world_size, rows, emb_size", "[self.rank]"),
    "whole_table": ("vocab_size, emb_size", "[self.rank * self.rows : (self.rank + 1) * self.rows]"),
    "one_row_more": ("rows + 1, emb_size", "[: self.rows]"),
    "transposed": ("emb_size, rows", ".T"),
}


@pytest.mark.parametrize("layout", in_quick(OWN_ROWS, 3))
@pytest.mark.parametrize("draw", ["whole", "own"])
def test_a_layout_costs_registration_only(judge_both: Judge, layout: str, draw: str) -> None:
    """Whatever is drawn, all at once or the rank's own rows alone."""
    shape, own = OWN_ROWS[layout]
    rows = "torch.empty(self.rows, self.width, dtype=self.shard.dtype, device=self.shard.device)"
    drawn = f"self.shard.data{own}.copy_({rows}.normal_(self.init_mean, self.init_std, generator=generator))"
    edits = {
        SHARD: f"nn.Parameter(torch.zeros({shape}, dtype=dtype, device=device))",
        OWN: f"{OWN}\n        self.rank, self.rows, self.width = rank, rows, emb_size",
        "self.shard.shape[0]": "self.rows",
        "self.shard.to(input_ids.device)": f"self.shard{own}.to(input_ids.device)",
    }
    if draw == "own":
        edits["nn.init.normal_(self.shard, self.init_mean, self.init_std, generator=generator)"] = drawn
    assert lost(judge_both("task3", edits)) == {"shard_registration_and_arguments"}


def test_a_sparse_gradient_with_the_right_numbers_costs_nothing(judge_both: Judge) -> None:
    held = "self.shard.to(input_ids.device)"
    assert lost(judge_both("task3", {f"{held})": f"{held}, sparse=True)"})) == set()


# ── ``--device cuda``: every case runs there ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def judge_all_there() -> RunHiddenTests:
    """``judge_all_there(files, task)``: every case on the simulated device alone, as on a GPU alone."""
    assert why_not_simulated() == ""
    return hidden_tests_of(ASSIGNMENT, (second_device.DEVICE,))


@pytest.mark.slow
def test_the_reference_passes_every_case_there(judge_all_there: RunHiddenTests) -> None:
    results = judge_all_there(ASSIGNMENT.solution())
    assert sum("simulated" in result.id for result in results) > 0.8 * len(results)
    assert [(result.id, result.detail) for result in results if result.outcome is not Outcome.PASSED] == []


@pytest.mark.slow
@pytest.mark.parametrize("variant", WRONG_ANYWHERE, ids=lambda variant: variant.name)
def test_a_mistake_costs_there_what_it_costs_on_the_cpu(judge_all_there: RunHiddenTests, variant: Variant) -> None:
    assert lost(judge_all_there(variant.files, task_of(variant))) == variant.breaks
