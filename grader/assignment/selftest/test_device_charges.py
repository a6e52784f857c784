"""What device cases charge: each mistake once, in its own property; and what a simulation cannot show, not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.judge.devices import why_not_simulated
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.student import Student
from grader.core.results.language import in_words
from grader.core.results.outcome import CaseResult, Outcome, by_property, property_outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.shared import second_device

NORM, EMBEDDINGS = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
HOME = {"task1": NORM, "task2": EMBEDDINGS, "task3": EMBEDDINGS, "task4": "src/modeling/pos_emb.py"}
GAMMA = "nn.Parameter(torch.empty(hidden_size, dtype=dtype, device=device))"
TABLE = "nn.Parameter(torch.empty(vocab_size, emb_size, dtype=dtype, device=device))"
SHARD = "nn.Parameter(torch.empty(rows, emb_size, dtype=dtype, device=device))"
GENERATOR = "torch.Generator(self.gamma.device)"
MEAN = "groups.square().mean(dim=-1, keepdim=True)  # [b, s, h/gz, 1]"
SIMULATED = "assessed on a GPU only: "

Judge = Callable[[str, Mapping[str, str]], list[CaseResult]]


def judging(chosen: Sequence[str]) -> Judge:
    """``judge(task, edits)``: the cases of a task on these devices, of the reference with some lines replaced."""

    @cache
    def tests(task: str) -> HiddenTests:
        return HiddenTests(ASSIGNMENT, chosen, 0, ASSIGNMENT.rubric.only(task).properties)

    def run(task: str, edits: Mapping[str, str]) -> list[CaseResult]:
        files = ASSIGNMENT.solution()
        for old, new in edits.items():
            assert old in files[HOME[task]], old
            files[HOME[task]] = files[HOME[task]].replace(old, new)
        return tests(task).run(Student(files, InProcessWorker, ASSIGNMENT.rubric, Limits()))

    return run


@pytest.fixture(scope="module")
def judge() -> Judge:
    assert why_not_simulated() == ""
    return judging(("cpu", second_device.DEVICE))  # also where there is a GPU, which has nothing that cannot be shown


@pytest.fixture(scope="module")
def judge_on_the_cpu() -> Judge:
    return judging(("cpu",))


def lost(task: str, results: Sequence[CaseResult]) -> dict[str, float]:
    """The points that are lost, by property."""
    assert not [result for result in results if result.outcome is Outcome.GRADER_ERROR]
    rubric = ASSIGNMENT.rubric.only(task)
    ended = {name: property_outcome(cases) for name, cases in by_property(rubric, results).items()}
    return {name: rubric.properties[name].points for name, end in ended.items() if end is not Outcome.PASSED}


def about_devices(results: Sequence[CaseResult]) -> list[CaseResult]:
    """The cases on a second device."""
    return [result for result in results if "simulated" in result.id or "cuda" in result.id]


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
def test_what_the_simulation_cannot_show_costs_nothing_and_is_said(judge: Judge, edits: Mapping[str, str]) -> None:
    results = judge("task1", edits)
    assert lost("task1", results) == {}
    told = [result for result in results if result.message.startswith(SIMULATED)]
    assert told
    for result in told:
        assert result.outcome is Outcome.NOT_ASSESSED
        assert "simulated" in result.id
        assert in_words(result.message, ASSIGNMENT, "zh") != result.message


def test_common_layers_are_assessed(judge: Judge) -> None:
    pooled = "nn.functional.conv1d(groups.square().flatten(0, 2).unsqueeze(1), torch.full((1, 1, self.group_size), "
    pooled += "1 / self.group_size, dtype=groups.dtype, device=groups.device)).view(*groups.shape[:-1], 1)"
    results = judge("task1", {MEAN: pooled})
    assert lost("task1", results) == {}
    assert {result.outcome for result in about_devices(results)} == {Outcome.PASSED}


def test_a_forged_claim_is_charged_as_the_crash_that_it_is(judge: Judge) -> None:
    forged = """        if input.device.type != "cpu":
            from grader.shared.second_device import NotSimulated
            raise NotSimulated("aten::add.Tensor")
        # Squares"""
    results = judge("task1", {"        # Squares": forged})
    assert lost("task1", results) == {"norm_dtype_and_shape": 3.0}
    assert not [result for result in results if result.message.startswith(SIMULATED)]


def test_a_claim_excuses_nothing_on_the_cpu(judge: Judge) -> None:
    raised = """        from grader.shared.second_device import NotSimulated
        raise NotSimulated("aten::_nnz")
"""
    results = judge("task1", {"        # Squares": f"{raised}        # Squares"})
    assert {"norm_groups", "norm_dtype_and_shape", "norm_mixed_devices"} <= lost("task1", results).keys()


# ── Each mistake once ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("task", "edits", "charged"),
    [
        ("task1", {GAMMA: GAMMA.replace(", device=device))", ")).to(device)")}, "norm_registration_and_arguments"),
        ("task1", {GAMMA: GAMMA.replace(", device=device", "")}, "norm_registration_and_arguments"),
        ("task2", {TABLE: TABLE.replace(", device=device))", ")).to(device)")}, "vocab_dtype_and_registration"),
        ("task2", {TABLE: TABLE.replace(", device=device", "")}, "vocab_dtype_and_registration"),
        ("task3", {SHARD: SHARD.replace(", device=device))", ")).to(device)")}, "shard_registration_and_arguments"),
        ("task3", {SHARD: SHARD.replace(", device=device", "")}, "shard_registration_and_arguments"),
    ],
    ids=[f"{piece}-{mistake}" for piece in ("norm", "vocab", "shard") for mistake in ("moved", "ignored")],
)
def test_a_parameter_that_is_not_made_there_is_charged_once_and_told_about_making(
    judge: Judge, task: str, edits: Mapping[str, str], charged: str
) -> None:
    results = judge(task, edits)
    assert lost(task, results).keys() == {charged}
    failed = [result for result in results if result.outcome not in (Outcome.PASSED, Outcome.NOT_ASSESSED)]
    assert [result.id.partition("-")[0] for result in failed] == [
        "the_parameter_is_made_on_the_device_that_is_asked_for"
    ]
    assert "Pass device to every parameter" in failed[0].message


@pytest.mark.parametrize(
    ("task", "edits", "charged"),
    [
        ("task1", {"self.gamma.to(input.device)": "self.gamma"}, "norm_mixed_devices"),
        ("task2", {"self.table.to(input_ids.device)": "self.table"}, "vocab_mixed_devices"),
        ("task3", {"self.shard.to(input_ids.device)": "self.shard"}, "shard_mixed_devices"),
    ],
)
def test_refusing_another_device_costs_one_point_and_none_without_a_second_device(
    judge: Judge, judge_on_the_cpu: Judge, task: str, edits: Mapping[str, str], charged: str
) -> None:
    assert lost(task, judge(task, edits)) == {charged: 1.0}
    assert lost(task, judge_on_the_cpu(task, edits)) == {}


def test_an_output_on_the_wrong_device_everywhere_is_charged_once(judge: Judge) -> None:
    results = judge("task1", {".to(input.dtype)  # [b, s, h]": ".to(input.dtype).cpu()"})
    assert lost("task1", results) == {"norm_dtype_and_shape": 3.0}


def test_stubs_earn_none_of_the_points_about_devices(judge_on_the_cpu: Judge) -> None:
    results = judge_on_the_cpu("task1", {"        # Squares": '        raise NotImplementedError("Task 1")\n        #'})
    assert "norm_mixed_devices" in lost("task1", results)


def test_a_missing_class_is_told_alike_by_every_case(judge: Judge) -> None:
    results = judge("task3", {"class ParallelVocabEmbedding": "class AnotherName"})
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


@pytest.mark.parametrize("layout", OWN_ROWS)
@pytest.mark.parametrize("draw", ["whole", "own"])
def test_a_layout_costs_registration_only(judge: Judge, layout: str, draw: str) -> None:
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
    assert lost("task3", judge("task3", edits)).keys() == {"shard_registration_and_arguments"}


# ── Prices ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("task", "edits", "price"),
    [
        (
            "task1",
            {"if hidden_size % group_size != 0:": "assert hidden_size % group_size == 0\n        if False:"},
            1.0,
        ),
        ("task1", {"if hidden_size % group_size != 0:": "if False:"}, 3.0),
        ("task3", {"if vocab_size % world_size != 0:": "assert vocab_size % world_size == 0\n        if False:"}, 1.0),
        ("task3", {"if vocab_size % world_size != 0:": "if False:"}, 4.0),
        ("task3", {"rank: int = 0": "rank: int"}, 3.0),
        ("task3", {"rank: int = 0": "rank: int = 1"}, 3.0),
        ("task4", {"ratio, dtype=torch.float32, device=device)": "ratio, device=device).to(dtype).float()"}, 5.0),
        ("task4", {"base**-exponents": "(2 * base) ** -exponents"}, 8.0),
    ],
    ids=["unnamed-1", "accepted-1", "unnamed-3", "accepted-3", "no_rank", "rank-1", "in_16_bits", "another_base"],
)
def test_a_mistake_costs_what_the_assignment_says(
    judge_on_the_cpu: Judge, task: str, edits: Mapping[str, str], price: float
) -> None:
    assert sum(lost(task, judge_on_the_cpu(task, edits)).values()) == price


@pytest.mark.parametrize("task", ["task2", "task3"])
def test_a_sparse_gradient_with_the_right_numbers_costs_nothing(judge: Judge, task: str) -> None:
    held = {"task2": "self.table.to(input_ids.device)", "task3": "self.shard.to(input_ids.device)"}[task]
    assert lost(task, judge(task, {f"{held})": f"{held}, sparse=True)"})) == {}
