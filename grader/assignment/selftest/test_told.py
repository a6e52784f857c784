"""What messages say about a wrong output beside its place: ids, rows, ratios and turns of the student's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants.slips import SLIPS, submission, task_of_slip
from grader.assignment.diagnose.shown import EXPLAINED, IN_EVALUATION, NEEDED, explains, shown
from grader.assignment.hidden.checks import Draw, check_drawn
from grader.assignment.model.row_words import answered, check_received, check_rows
from grader.core.judge.faults import WrongAnswer
from grader.core.judge.wording import relation
from grader.core.messages import quoted, say
from grader.core.results.chinese import PHRASES
from grader.core.results.outcome import CaseResult, Outcome

Judge = Callable[..., list[CaseResult]]
TABLE = torch.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])
IDS = torch.tensor([[0, 1, 2]])
BY_NAME = {slip.name: slip for slip in SLIPS}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (TABLE[[1, 1, 2]], "1 of 3 ids give a wrong row; id 0 gives the row of id 1"),
        (TABLE * torch.tensor([[1.0], [0.0], [1.0]]), "id 1 gives zeros"),
        (TABLE * 2, "each id gives its own row times 2"),
        (TABLE / TABLE.norm(dim=-1, keepdim=True), "each id gives its own row times a number"),
        (TABLE + 0.001, "id 0 gives its own row, rounded"),
        (TABLE.flip(-1), "id 0 gives no row of the table"),
        (TABLE / 0, "id 0 gives numbers that are not finite"),
    ],
)
def test_rows_are_told_by_whose_they_are(given: torch.Tensor, said: str) -> None:
    check_rows(TABLE[IDS], TABLE[IDS], IDS, TABLE, quoted("ids"))
    with pytest.raises(WrongAnswer, match=said):
        check_rows(given.unsqueeze(0), TABLE[IDS], IDS, TABLE, quoted("ids"))


@pytest.mark.parametrize(
    ("received", "said"),
    [
        ([0.0, 0.0], "nothing"),
        ([4.0, 2.0], "the mean of the gradients of its uses"),
        ([2.0, 3.0], "the gradient of only one of its uses"),
        ([16.0, 8.0], "2 times the expected gradient"),
        ([2.0, 1.0], "0.25 times the expected gradient"),
        ([1.0, 8.0], "a different sum"),
    ],
)
def test_gradients_are_told_by_what_reaches_a_row(received: list[float], said: str) -> None:
    uses = torch.tensor([[2.0, 3.0], [6.0, 1.0]])
    expected = uses.sum(0, keepdim=True)
    check_received(expected, expected, torch.tensor([7]), lambda _: uses, quoted("gradient"))
    with pytest.raises(WrongAnswer, match=f"the row of id 7 receives {said}$"):
        check_received(torch.tensor([received]), expected, torch.tensor([7]), lambda _: uses, quoted("gradient"))


def test_the_ids_that_a_rank_answers_are_a_range_or_a_list() -> None:
    assert answered(torch.zeros(4, 2)) == "this rank gives no nonzero row"
    assert answered(torch.tensor([[0.0], [1.0], [1.0], [0.0]])) == "this rank gives nonzero rows for ids 1 to 2"
    assert answered(torch.tensor([[1.0], [0.0], [1.0], [0.0]])) == "this rank gives nonzero rows for ids 0, 2"


def test_alike_elements_are_no_news_where_they_should_be_alike() -> None:
    same, varied = torch.full((4,), 3.0), torch.arange(1.0, 5.0)
    assert relation(same, varied, varied) == "all of these are the same number"
    assert relation(same, same * 2, same) == "all of these are 0.5 times the expected value"


ASKED, OTHER = Draw("normal", 0.5, 2.0), Draw("uniform", 0.5, 2.0)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ASKED.numbers((8, 16), 9, torch.float32, "cpu"), "they are the numbers of seed 9"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu", 2), "they are the numbers of seed 7 after 256 earlier draws"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu").bfloat16(), "they are the right random numbers, rounded"),
        (ASKED.numbers((8, 16), 7, torch.float64, "cpu"), "they are this seed's numbers for a draw in float64"),
        (ASKED.numbers((16, 8), 7, torch.float32, "cpu").T, "they are the right random numbers in another order"),
        (OTHER.numbers((8, 16), 7, torch.float32, "cpu"), "they are this seed's numbers for a uniform draw"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu") * 2, "they have mean 1 and standard deviation 4"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu").clamp(-2.5, 3.5), "they are clamped there"),
        (ASKED.numbers((8, 16), 5000, torch.float32, "cpu"), "not the numbers of this draw; their mean is"),
    ],
)
def test_random_numbers_are_told_by_where_they_come_from(value: torch.Tensor, said: str) -> None:
    with pytest.raises(WrongAnswer, match=said):
        check_drawn(value, ASKED, 7, torch.float32, "cpu")


TOLD = {
    "grows_at_equality": "they are the tables of ratio 2",
    "exact_fraction": "they match the tables of no ratio from 1 to 18",
    "positions_from_one": "position 0 is rotated as position 1 should be",
    "exponents_not_doubled": "pair by pair, the angles are 1, ",
    "both_plus": "(1, 0) becomes (0, 1); (0, 1) becomes (1, 0)",
    "adjacent_pairs": "features 0 to 3 move to 1, -0, 3, -2",
    "reversed_positions": "positions use the angles of positions [1, 0]",
    "start_one_late": "this rank gives nonzero rows for ids 1 to 23",
    "eps_squared": "for features of magnitude 0.5, group_size=4, eps=0.75",
    "vocab_seed_ignored": "they are the numbers of seed 42",
}


@pytest.mark.parametrize(("name", "said"), TOLD.items(), ids=TOLD)
def test_a_case_says_what_it_saw(judge: Judge, name: str, said: str) -> None:
    results = judge(submission([BY_NAME[name]]), task_of_slip(BY_NAME[name]))
    failed = [result.message for result in results if result.outcome is Outcome.FAILED]
    assert any(said in message for message in failed), failed


def test_a_cause_explains_every_failing_case_or_is_not_named() -> None:
    cut = {"a": say("no gradient reaches {where}", where="gamma")}
    assert shown("norm_backward", cut) == "gradient_cut"
    assert shown("norm_backward", {**cut, "b": say("the shape is {actual}, not {wanted}")}) is None
    assert shown("norm_backward", {}) is None
    assert not explains("earlier_call_remembered", {"a": say(IN_EVALUATION)})
    assert NEEDED.keys() <= EXPLAINED.keys()


def test_clues_look_for_statements_that_are_made() -> None:
    """A template that nothing says any longer would be looked for in vain."""
    known = {**PHRASES, **ASSIGNMENT.phrases}.keys()
    clues = [clue for table in (EXPLAINED, NEEDED) for own in table.values() for clue in own]
    looked_for = {key for clue in clues for key in (*clue.says, *clue.lacks, clue.within)} - {""}
    assert looked_for <= known
