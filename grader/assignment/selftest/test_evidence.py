"""A property is earned by evidence: what does nothing earns nothing, and what happens to be drawn right earns that."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants.slips import submission
from grader.core.results.outcome import Outcome
from grader.lab.charges import lost
from grader.selftest import some
from grader.selftest.warm_judges import RunHiddenTests

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
    failed = [case for case in judge(files) if case.property_id in own and case.outcome not in no_loss]
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
