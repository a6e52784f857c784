"""Questions about submissions that run: each answer is what running gives, again, and no option is another's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.sandbox.handle import WorkerLike
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.examples.small.grader.assignment import ASSIGNMENT as SMALL
from grader.extras.viva.execution import Bench, Outcome
from grader.extras.viva.files import written
from grader.extras.viva.kinds import Maker
from grader.extras.viva.quiz import KINDS, Question, drawn
from grader.extras.viva.study import MOST_EDITS, Study, known_mistakes, studies, viva_of
from grader.lab.release.leaks import leaks

NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
process = pytest.mark.process


class Counting:
    """Starts workers, and counts them."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote, self.count = zygote, 0

    def __call__(self, files: Mapping[str, str]) -> WorkerLike:
        """Start one."""
        self.count += 1
        return self._zygote.start(files)


@pytest.fixture(scope="module")
def start() -> Iterator[Counting]:
    zygote = Zygote(Limits())
    yield Counting(zygote)
    zygote.close()


def studied(start: Counting, files: Mapping[str, str], of: Assignment = ASSIGNMENT, seed: str = "0") -> list[Study]:
    declared = viva_of(of)
    assert declared is not None
    return [*studies(Bench(start), files, of.rubric, declared, {}, seed)]


def pool(found: list[Study], of: Assignment = ASSIGNMENT, language: str = "en", seed: str = "0") -> list[Question]:
    return [question for study in found for question in Maker(study, of.rubric, language, seed).questions()]


@pytest.fixture(scope="module")
def reference(start: Counting) -> list[Study]:
    return studied(start, ASSIGNMENT.solution())


# ── Right submissions ───────────────────────────────────────────────────────────────────────────────────────────────


@process
def test_a_right_submission_has_forty_questions_of_six_kinds_and_two_workers_for_each_version(start: Counting) -> None:
    before = start.count
    found = studied(start, ASSIGNMENT.part("corpus.styles").style(7).submission(ASSIGNMENT).files)
    assert start.count - before <= 2 * len(ASSIGNMENT.rubric.tasks) * (1 + MOST_EDITS), "what a submission costs"
    kinds = Counter(question.kind for question in pool(found))
    assert kinds.total() >= 40
    assert set(kinds) == {*KINDS}


@process
def test_every_law_holds_for_the_reference(reference: list[Study]) -> None:
    declared = viva_of(ASSIGNMENT)
    assert declared is not None
    assert set().union(*(study.holding for study in reference)) == declared.laws.keys()


@process
def test_the_right_option_is_what_a_new_worker_says_and_no_other_option_is(
    start: Counting, reference: list[Study]
) -> None:
    checked = 0
    for study in reference:
        codes = [call.code for call in study.calls]
        again = Bench(start).outcomes(ASSIGNMENT.solution(), study.task, codes)
        assert again is not None
        texts = dict(zip(codes, (outcome.text for outcome in again), strict=True))
        for question in Maker(study, ASSIGNMENT.rubric, "en", "0").questions():
            if question.kind in ("predict", "growth"):
                options = [option.text for option in question.options]
                assert [text == texts[question.blocks[0]] for text in options] == [True] + [False] * (len(options) - 1)
                checked += 1
    assert checked > 30


@process
def test_what_an_edit_does_is_found_by_running_the_edited_file(start: Counting, reference: list[Study]) -> None:
    files, declared = ASSIGNMENT.solution(), viva_of(ASSIGNMENT)
    assert declared is not None
    for study in reference[:1]:
        for version in study.edited:
            codes = [*(call.code for call in study.calls), *(declared.laws[name] for name in sorted(study.holding))]
            again = Bench(start).outcomes(version.edit.applied(files), study.task, codes)
            assert again is not None
            laws = zip(sorted(study.holding), again[len(study.calls) :], strict=True)
            assert version.broken == {name for name, outcome in laws if outcome.value != "True"}
            assert all(a.same(b) for a, b in zip(version.outcomes, again[: len(study.calls)], strict=True))


@process
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_options_of_any_question_can_be_confused(reference: list[Study], language: str) -> None:
    for question in pool(reference, language=language):
        texts = ["".join(option.text.split()) for option in question.options]
        assert 4 <= len(texts) <= 5, question
        assert all(one != other for one, other in combinations(texts, 2)), question
        assert not question.options[0].origin
        assert all(option.origin for option in question.options[1:])


@process
def test_wrong_shapes_are_what_other_lines_held(reference: list[Study]) -> None:
    for study in reference:
        held = {text for outcome in study.outcomes for text in outcome.held.values()}
        asked = [question for question in pool([study]) if question.kind == "shape"]
        assert asked
        assert {option.text for question in asked for option in question.options} <= held


@process
def test_the_same_seed_gives_the_same_questions_and_another_student_gets_others(
    start: Counting, reference: list[Study]
) -> None:
    again = pool(studied(start, ASSIGNMENT.solution()))
    assert again == pool(reference)
    quizzes = [drawn(name, "anon-abcdefgh", again, 0) for name in ("ada", "ada", "bo")]
    assert quizzes[0] == quizzes[1]
    assert [question.kind for question in quizzes[0].questions] == [*KINDS]
    shared = [question for question in quizzes[0].questions if question in quizzes[2].questions]
    assert len(shared) <= 1
    assert drawn("ada", "anon-abcdefgh", again, 1) != quizzes[0]


@process
def test_nothing_of_the_reference_or_of_hidden_tests_is_in_the_quiz_of_another_solution(start: Counting) -> None:
    """The leak check of a release, on what students get about code that shares no text with the reference."""
    found = pool(studied(start, ASSIGNMENT.part("corpus.styles").style(7).submission(ASSIGNMENT).files))
    whole = drawn("ada", "anon-abcdefgh", found, 0).model_copy(update={"questions": found})
    given = {
        name: data
        for name, data in written([whole], ASSIGNMENT.rubric, "en")
        if name.startswith(("moodle", "questions", "pages"))
    }
    assert [*leaks({f"{name}.md": data for name, data in given.items()})] == []


# ── Other submissions ───────────────────────────────────────────────────────────────────────────────────────────────


@process
def test_a_wrong_submission_is_asked_about_what_it_does(start: Counting) -> None:
    files = ASSIGNMENT.solution()
    files[NORM] = files[NORM].replace("torch.sqrt(mean_square + self.eps)", "(torch.sqrt(mean_square) + self.eps)")
    found = studied(start, files)
    asked = [question for question in pool(found) if question.kind == "predict" and "eps=16.0" in question.blocks[0]]
    answers = {question.options[0].text for question in asked}
    assert "[[[0.158, -0.158]]]" in answers, "3 / (3 + 16), and not 3 / 5"
    assert "norm_eps_inside_sqrt" not in found[0].holding
    title = ASSIGNMENT.rubric.properties["norm_eps_inside_sqrt"].title["en"]
    assert not [question for question in pool(found) if any(option.text == title for option in question.options)]


@process
def test_stubs_and_code_that_never_ends_are_asked_nothing(start: Counting) -> None:
    assert pool(studied(start, ASSIGNMENT.stubs())) == []
    files = SMALL.solution()
    files["src/swiglu.py"] += "\nwhile True:\n    pass\n"
    assert {study.task.id for study in studied(start, files, SMALL)} == {"task1"}


@process
def test_what_reads_memory_that_nobody_wrote_to_is_no_answer(start: Counting) -> None:
    files = ASSIGNMENT.solution()
    files[NORM] = files[NORM].replace("self.reset_parameters()\n", "pass\n", 1)
    declared = viva_of(ASSIGNMENT)
    assert declared is not None
    task = ASSIGNMENT.rubric.tasks[0]
    assert Bench(start).outcomes(files, task, [call.code for call in declared.calls if call.task == task.id]) is None


@process
def test_a_submission_that_answers_otherwise_the_second_time_is_asked_nothing(start: Counting) -> None:
    files = SMALL.solution()
    files["src/swiglu.py"] = files["src/swiglu.py"].replace(
        "return (gate", "import time\n        return time.time_ns() % 999 * (gate"
    )
    assert {study.task.id for study in studied(start, files, SMALL)} == {"task1"}


@process
def test_the_small_assignment_has_questions_and_its_known_mistakes_are_wrong_answers(start: Counting) -> None:
    declared = viva_of(SMALL)
    assert declared is not None
    known = known_mistakes(Bench(start), SMALL, declared)
    assert {name for mistakes in known.values() for name in mistakes} == {
        mistake.id for mistake in SMALL.rubric.misconceptions
    }
    found = [*studies(Bench(start), SMALL.solution(), SMALL.rubric, declared, known, "0")]
    questions = pool(found, SMALL)
    assert {question.kind for question in questions} == {*KINDS}
    origins = [option.origin for question in questions for option in question.options]
    assert any(mistake.hint["en"] in origin for mistake in SMALL.rubric.misconceptions for origin in origins)


# ── Outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(value: Any, error: str = "") -> Outcome:
    return Outcome(value, error, (), {})


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]), True),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]), False),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.001]), None),
        (torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float16), False),
        (torch.tensor([1.0]), torch.tensor([[1.0]]), False),
        (torch.tensor([float("nan")]), torch.tensor([1.0]), False),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")]), True),
        (torch.ones(0), torch.ones(0), True),
        ("32", "32", True),
        ("32", "48", False),
        ("32", torch.tensor(32), False),
    ],
)
def test_two_outcomes_are_the_same_or_apart_or_too_near_to_tell(first: Any, second: Any, same: bool | None) -> None:
    assert outcome(first).same(outcome(second)) is same
    assert outcome(second).same(outcome(first)) is same


def test_errors_are_the_same_if_their_class_is() -> None:
    assert outcome(None, "ValueError").same(outcome(None, "ValueError"))
    assert outcome(None, "ValueError").same(outcome(None, "TypeError")) is False
    assert outcome(None, "ValueError").text == "raises ValueError"


def test_numbers_are_shown_with_three_digits() -> None:
    assert outcome(torch.tensor([[0.44721, -0.0]])).text == "[[0.447, 0.0]]"
    assert outcome(torch.tensor([[1, 2]])).text == "[[1, 2]]"


def test_a_file_that_names_no_task_or_property_is_refused(tmp_path: Any) -> None:
    (tmp_path / "corpus").mkdir()
    text = (SMALL.folder / "corpus" / "viva.toml").read_text(encoding="utf-8")
    (tmp_path / "rubric.toml").write_bytes((SMALL.folder / "rubric.toml").read_bytes())
    (tmp_path / "corpus" / "viva.toml").write_text(re.sub("swiglu_gate", "swiglu_gone", text), encoding="utf-8")
    with pytest.raises(ValueError, match=r"viva\.toml: 'swiglu_gone' is no task or property"):
        viva_of(Assignment(SMALL.package, tmp_path, SMALL.root))
    assert viva_of(Assignment(SMALL.package, SMALL.folder / "hidden", SMALL.root)) is None


@process
def test_a_gradient_that_is_kept_sparse_is_a_tensor_like_any_other(start: Counting) -> None:
    files, task = ASSIGNMENT.solution(), ASSIGNMENT.rubric.tasks[1]
    files[VOCAB] = files[VOCAB].replace("self.table.to(input_ids.device))", "self.table, sparse=True)")
    code = "embed = VocabEmbedding(4, 1)\nembed(torch.tensor([[1, 1]])).sum().backward()\nnext(embed.parameters()).grad"
    found = Bench(start).outcomes(files, task, [code])
    assert found is not None
    assert found[0].text == "[[0.0], [2.0], [0.0], [0.0]]"
