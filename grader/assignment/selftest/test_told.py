"""What messages say about a wrong output beside its place: ids, rows, ratios and turns of the student's own."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.diagnose.shown import EXPLAINED, NEEDED, explains, shown
from grader.assignment.hidden.conditions import IN_EVALUATION
from grader.assignment.hidden.construction import check_drawn
from grader.assignment.hidden.devices import advice
from grader.assignment.hidden.rope_tables import SIZES
from grader.assignment.model.draw_words import Draw, told_seeds
from grader.assignment.model.row_words import answered, check_received, check_rows
from grader.assignment.model.turn_words import told_pairing, told_pairs, told_places
from grader.core.judge.faults import Crashed, WrongAnswer, fault_from_reply
from grader.core.judge.wording import relation
from grader.core.messages import quoted, say
from grader.core.results.views import chinese_words, in_words
from grader.testing import Student, check_equal, check_shape

TABLE = torch.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])
SIGNED = TABLE * torch.tensor([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])
IDS = torch.tensor([[0, 1, 2]])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (TABLE[[1, 1, 2]], "wrong rows for 1 of 3 ids; id 0 gives the row of id 1"),
        (TABLE * torch.tensor([[1.0], [0.0], [1.0]]), "id 1 gives zeros"),
        (TABLE * 2, "each id gives its own row times 2"),
        (TABLE / TABLE.norm(dim=-1, keepdim=True), "each id gives its own row times a number"),
        (TABLE + 0.001, "id 0 gives its own row, rounded"),
        (TABLE + TABLE[1], "id 0 gives the sum of the rows of ids 0 and 1"),
        (TABLE + TABLE[:2].mean(0), "id 0 gives no row of the table"),
        (TABLE.flip(-1), "id 0 gives no row of the table"),
        (TABLE / 0, "id 0 gives numbers that are not finite"),
        (torch.full_like(TABLE, 4.0), "id 0 gives 4 in every feature"),
        (SIGNED.relu(), "these are the right rows, but with 0 in place of negative numbers$"),
        (SIGNED.abs(), "these are the right rows, but without the signs of their numbers$"),
    ],
)
def test_rows_are_told_by_whose_they_are(given: torch.Tensor, said: str) -> None:
    table = SIGNED if "the right rows" in said else TABLE
    check_rows(table[IDS], table[IDS], IDS, table, quoted("ids"))
    with pytest.raises(WrongAnswer, match=said):
        check_rows(given.unsqueeze(0), table[IDS], IDS, table, quoted("ids"))


def test_a_row_that_only_some_calls_give_is_no_row_of_another_id() -> None:
    given, elsewhere = TABLE[IDS], TABLE[torch.tensor([[1, 1, 2]])]
    with pytest.raises(WrongAnswer, match=r"id 0 gives its own row, but a different output in other calls$"):
        check_rows(given, elsewhere, IDS, TABLE, quoted("ids"))
    with pytest.raises(WrongAnswer, match="id 0 gives the row of id 0"):
        check_rows(given, torch.zeros_like(given), IDS, TABLE, quoted("ids"))


@pytest.mark.parametrize(
    ("received", "said"),
    [
        ([0.0, 0.0], "nothing"),
        ([4.0, 2.0], "the mean of the gradients of its uses"),
        ([2.0, 3.0], "the gradient of only one of its uses"),
        ([16.0, 8.0], "2 times the expected gradient"),
        ([2.0, 1.0], "0.25 times the expected gradient"),
        ([1.0, 8.0], "a different sum"),
        ([11.0, 4.0], "its own gradients, and those of ids that give zeros"),
    ],
)
def test_gradients_are_told_by_what_reaches_a_row(received: list[float], said: str) -> None:
    uses = torch.tensor([[2.0, 3.0], [6.0, 1.0]])
    expected = uses.sum(0, keepdim=True)

    def uses_of(row: torch.Tensor) -> torch.Tensor:
        return uses if int(row) == 7 else torch.tensor([[3.0, 0.0]])

    check_received(expected, expected, torch.tensor([7]), uses_of, quoted("gradient"))
    with pytest.raises(WrongAnswer, match=f"the row of id 7 receives {said}$"):
        check_received(torch.tensor([received]), expected, torch.tensor([7]), uses_of, quoted("gradient"))


def test_rows_that_receive_the_sum_are_told_beside_one_that_does_not() -> None:
    uses = torch.tensor([[2.0, 3.0], [6.0, 1.0]])
    expected, given = uses.sum(0).repeat(2, 1), torch.stack((uses.sum(0), uses[0]))
    with pytest.raises(WrongAnswer, match=r"only one of its uses; other rows .* receive the sum, as they should$"):
        check_received(given, expected, torch.tensor([1, 2]), lambda _: uses, quoted("gradient"))


def test_rows_in_another_order_are_told_with_the_order() -> None:
    ids = torch.tensor([[2, 0, 1], [1, 2, 0]])
    with pytest.raises(WrongAnswer, match="the rows of these ids, but sorted by id within each row"):
        check_rows(TABLE[ids.sort(-1).values], TABLE[ids], ids, TABLE, quoted("ids"))


def test_the_ids_that_each_rank_answers_are_a_range_or_a_list_or_none() -> None:
    ranks = torch.tensor([[[0.0], [1.0], [1.0], [1.0]], [[1.0], [0.0], [1.0], [0.0]], [[0.0]] * 4])
    assert answered([*ranks]) == "ids that give nonzero rows, with world_size=3: rank 0: 1–3 | rank 1: 0, 2 | rank 2: -"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (((0, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 1), (0, 0, -1, 0)), ["your pairs are (0, 1), (2, 3)", "by +angle"]),
        (((0, 0, -1, 0), (0, 0, 0, -1), (1, 0, 0, 0), (0, 1, 0, 0)), ["your pairs are (0, 2), (1, 3)", "by -angle"]),
        (((0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0), (1, 0, 0, 0)), ["your pairs are (0, 3), (1, 2)", "are added"]),
        (((0, 0, 1, 0), (0, 0, 0, -1), (-1, 0, 0, 0), (0, 1, 0, 0)), ["(x0, x1, x2, x3) becomes (-x2, x3, x0, -x1)"]),
        (
            ((0, 0, 0, 0), (0, 0, 0, 0), (-1, 0, 1, 0), (0, -1, 0, 1)),
            ["with 4 features, those at 2, 3 stay as they were"],
        ),
        (((0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 0, 0)), []),
        (((math.nan, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 1), (0, 0, -1, 0)), []),
    ],
)
def test_a_quarter_turn_tells_pairs_and_directions_where_all_features_agree(
    ends: tuple[tuple[float, ...], ...], said: list[str]
) -> None:
    told = told_pairing(torch.tensor(ends).double())
    assert len(told) == len(said)
    assert all(part in message for part, message in zip(said, told, strict=True)), told


def test_seeds_are_told_where_those_of_all_ranks_are_known_and_some_are_wrong() -> None:
    def drawn(*seeds: int) -> list[torch.Tensor]:
        return [ASKED.numbers((8, 16), seed, torch.float32, "cpu") for seed in seeds]

    assert told_seeds(drawn(7, 11, 15), ASKED, 7, "cpu") == "rank by rank, 3 ranks draw with seeds 7, 11, 15"
    assert told_seeds(drawn(7, 8, 9), ASKED, 7, "cpu") is None
    assert told_seeds(drawn(7, 5000), ASKED, 7, "cpu") is None


def test_spreads_are_told_rank_by_rank_where_the_seeds_are_right() -> None:
    halved = [ASKED.numbers((8, 16), 7 + rank, torch.float32, "cpu") / (1 + rank) for rank in range(3)]
    assert told_seeds(halved, ASKED, 7, "cpu") == "rank by rank, 3 ranks draw with standard deviations 2, 1, 0.67"


ANGLES = torch.tensor([0.3, 2.2, -1.1, 1.4])
COS, SIN = (table.repeat(2) for table in (ANGLES.cos(), ANGLES.sin()))
VECTOR = torch.arange(1.0, 9.0)
PARTNER = torch.cat((-VECTOR[4:], VECTOR[:4]))
TURNED = VECTOR * COS + PARTNER * SIN


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (TURNED, ""),
        (VECTOR * COS - PARTNER * SIN, ""),
        (VECTOR * COS + PARTNER * SIN.abs(), "but those whose sine is negative"),
        (VECTOR * COS.abs() + PARTNER * SIN, "but those whose cosine is negative"),
        (VECTOR * COS + PARTNER * SIN * torch.tensor([1.0, 0, 1, 1] * 2), ""),
        (torch.where(torch.arange(8) % 4 == 1, VECTOR, TURNED), "with 8 features, those at 1, 5 stay as they were"),
        (torch.cat((TURNED[:4], VECTOR[4:] * COS[4:] + TURNED[:4] * SIN[4:])), "it was overwritten"),
        (
            torch.cat((TURNED[:4], VECTOR[4:] * COS[:4].flip(0) + VECTOR[:4] * SIN[:4].flip(0))),
            "first features use the angles of pairs [0, 1, 2, 3], their second features those of [3, 2, 1, 0]",
        ),
    ],
)
def test_pairs_are_told_by_the_angles_of_each_half(output: torch.Tensor, said: str) -> None:
    told = told_pairs(output, VECTOR, COS.unsqueeze(0), SIN.unsqueeze(0))
    assert said in (told or ""), told
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("order", "said"), [([0, 4, 1, 5, 2, 6, 3, 7], "0, 4, 1, 5, 2, 6, 3, 7"), ([*range(8)], ""), ([0] * 8, "")]
)
def test_right_results_at_other_places_are_told_in_their_order(order: list[int], said: str) -> None:
    told = told_places(TURNED[order], TURNED)
    assert bool(told) == bool(said)
    assert all(said in message for message in told)


@pytest.mark.parametrize("seeds", [(7, 8, 9), (7, 7, 7)])
def test_ranks_that_cut_their_rows_out_of_a_table_are_told(seeds: tuple[int, ...]) -> None:
    tables = [ASKED.numbers((3, 8, 16), seed, torch.float32, "cpu") for seed in seeds]
    told = told_seeds([table[rank] for rank, table in enumerate(tables)], ASKED, 7, "cpu")
    listed = ", ".join(map(str, seeds))
    assert told == f"rank by rank, 3 ranks hold their rows of whole tables drawn with seeds {listed}"


def test_alike_elements_are_no_news_where_they_should_be_alike() -> None:
    same, varied = torch.full((4,), 3.0), torch.arange(1.0, 5.0)
    assert relation(same, varied, varied) == "all of these are the same number"
    assert relation(same, same * 2, same) == "all of these are 0.5 times the expected value"


ASKED, OTHER = Draw("normal", 0.5, 2.0), Draw("uniform", 0.5, 2.0)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ASKED.numbers((8, 16), 9, torch.float32, "cpu"), "they are the numbers of seed 9$"),
        (
            ASKED.numbers((8, 16), 7, torch.float32, "cpu", 256),
            "they are this seed's numbers, too late by 256",
        ),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu", 1), "they are this seed's numbers, too late by 1"),
        (ASKED.numbers((8, 16), 9, torch.float32, "cpu", 128), "the numbers of seed 9, too late by 128"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu").bfloat16(), "they are the right random numbers, rounded"),
        (ASKED.numbers((8, 16), 7, torch.float64, "cpu").float(), "they are this seed's numbers for a draw in float64"),
        (ASKED.numbers((16, 8), 7, torch.float32, "cpu").T, "they are the right random numbers in another order"),
        (OTHER.numbers((8, 16), 7, torch.float32, "cpu"), "they are this seed's numbers for a uniform draw"),
        (-ASKED.numbers((8, 16), 7, torch.float32, "cpu"), "numbers, mirrored: the bounds are swapped, or the sign is"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu") * 2, "they have mean 1 and standard deviation 4"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu").clamp(-2.5, 3.5), "they are clamped there"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu").clamp(max=1), "numbers beyond one bound are wrong: they are"),
        (ASKED.numbers((8, 16), 7, torch.float32, "cpu") * 0 + 1, "all of these are the same number"),
        (ASKED.numbers((8, 16), 5000, torch.float32, "cpu"), "not the numbers of this draw; their mean is"),
    ],
)
def test_random_numbers_are_told_by_where_they_come_from(value: torch.Tensor, said: str) -> None:
    with pytest.raises(WrongAnswer, match=said):
        check_drawn(value, ASKED, 7, torch.float32, "cpu")


def test_a_cause_explains_every_failing_case_or_is_not_named() -> None:
    cut = {"a": say("no gradient reaches {where}", where="gamma")}
    assert shown("norm_backward", cut) == "gradient_cut"
    assert shown("norm_backward", {**cut, "b": say("{what} has shape {actual}, not {wanted}")}) is None
    assert shown("norm_backward", {}) is None
    assert not explains("earlier_call_remembered", {"a": IN_EVALUATION})
    assert NEEDED.keys() <= EXPLAINED.keys()


def test_clues_look_for_statements_that_are_made() -> None:
    """A template that nothing says any longer would be looked for in vain; a case's name alone is no evidence."""
    known = chinese_words(ASSIGNMENT).keys()
    clues = [clue for table in (EXPLAINED, NEEDED) for some in table.values() for clue in some]
    clues += [clue.beside for clue in clues if clue.beside]
    assert all(clue.says for clue in clues)
    assert {key for clue in clues for key in (*clue.says, *clue.lacks)} - {SIZES} <= known  # the same in Chinese


def test_a_wrong_shape_is_no_matter_of_devices() -> None:
    student = cast("Student", SimpleNamespace(files_of_task={}, is_about_import=lambda _: False))
    with pytest.raises(WrongAnswer, match=r"move it$"), advice(student, "cpu", "move it"):
        check_equal(torch.zeros(3), torch.ones(3), quoted("output"))
    with pytest.raises(WrongAnswer, match=r"not \[3\]$"), advice(student, "cpu", "move it"):
        check_shape(torch.zeros(2), [3])


def test_every_phrase_of_several_words_is_chinese() -> None:
    """That it has the same fields, ``grader.lab.missing`` says."""
    chinese = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]")
    phrases = {
        english: text for english, text in chinese_words(ASSIGNMENT).items() if re.search("[a-z] [a-z]", english)
    }
    assert len(phrases) > 100
    assert [english for english, text in phrases.items() if not chinese.search(text)] == []


def test_a_message_is_translated_statement_by_statement_and_field_by_field() -> None:
    what = say("{dtype} output for group_size={group_size}", dtype="float32", group_size=2)
    places = "{what}: shape {shape}, {n} of {all} elements wrong, the first at {place}"
    message = say(places, what=what, shape=[1, 1, 6], n=2, all=6, place=[0, 0, 4])
    message = message.then(say("all of these have the opposite sign"))
    assert message == (
        "float32 output for group_size=2: shape [1, 1, 6], 2 of 6 elements wrong, the first at [0, 0, 4]; "
        "all of these have the opposite sign"
    )
    assert in_words(message, ASSIGNMENT, "en") == message
    assert in_words(message, ASSIGNMENT, "zh") == (
        "float32 输出（group_size=2）：形状 [1, 1, 6]，6 个元素中有 2 个不对，第一个在 [0, 0, 4]；它们的符号全都相反"
    )


def test_what_a_student_has_written_stays_as_it_is() -> None:
    error = {"kind": "crashed", "types": ["ValueError"], "message": "zeros; {n} none", "frames": [["src/a.py", 1, "f"]]}
    fault = fault_from_reply(error, {"src/a.py": "raise ValueError"}, 0)
    assert isinstance(fault, Crashed)
    assert fault.message == "ValueError: zeros; {n} none\n  src/a.py:1 in f: raise ValueError"
    first, second = in_words(fault.message, ASSIGNMENT, "zh").splitlines()
    assert (first, second) == ("ValueError: zeros; {n} none", "  src/a.py:1，f 中：raise ValueError")
    assert in_words("any other text", ASSIGNMENT, "zh") == "any other text"
