"""Questions about submissions that run: each answer is what running gives, again, and no option is another's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, cycle
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.sandbox.handle import WorkerLike
from grader.core.sandbox.launch import Zygote
from grader.examples.small.grader.assignment import ASSIGNMENT as SMALL
from grader.extras.viva.files import written
from grader.extras.viva.kinds import COPY, Maker
from grader.extras.viva.quiz import KINDS, Question, drawn
from grader.extras.viva.source import CALL, NEXT, PASS, Edit
from grader.extras.viva.study import (
    TRIES_OF_TASK,
    Call,
    Outcome,
    Study,
    Value,
    Version,
    Viva,
    studies,
    version,
    viva_of,
)
from grader.lab.release.leaks import leaks
from grader.selftest import long_only

pytestmark = pytest.mark.covered

TITLES = {name: prop.title["en"] for name, prop in ASSIGNMENT.rubric.properties.items()}
NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
ROPE, ROTARY = "src/modeling/pos_emb.py", "src/functional.py"


class Counting:
    """Starts workers, and counts them."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote, self.count = zygote, 0

    def __call__(self, files: Mapping[str, str]) -> WorkerLike:
        """Start one."""
        self.count += 1
        return self._zygote.start(files)


@pytest.fixture(scope="module")
def start(zygote: Zygote) -> Counting:
    return Counting(zygote)


def declared_by(of: Assignment) -> Viva:
    declared = viva_of(of)
    assert declared is not None
    return declared


def studied(start: Counting, files: Mapping[str, str], of: Assignment = ASSIGNMENT, seed: str = "0") -> list[Study]:
    return [*studies(start, files, of.rubric, declared_by(of), seed)]


def pool(found: list[Study], of: Assignment = ASSIGNMENT, language: str = "en", seed: str = "0") -> list[Question]:
    return [question for study in found for question in Maker(study, of.rubric, language, seed).questions()]


@pytest.fixture(scope="module")
def reference(start: Counting) -> list[Study]:
    return studied(start, ASSIGNMENT.solution())


@pytest.fixture(scope="module")
def styled(start: Counting) -> tuple[list[Study], int]:
    """A solution that shares no text with the reference, and how many workers were started for it."""
    before = start.count
    found = studied(start, ASSIGNMENT.part("corpus.styles").style(7).submission(ASSIGNMENT).files)
    return found, start.count - before


def test_a_right_submission_has_forty_questions_of_six_kinds_and_few_workers_for_each_version(
    styled: tuple[list[Study], int],
) -> None:
    found, workers = styled
    assert workers <= 2 * (1 + TRIES_OF_TASK) * len(ASSIGNMENT.rubric.tasks), "what a submission costs"
    kinds = Counter(question.kind for question in pool(found))
    assert kinds.total() >= 40
    assert set(kinds) == {*KINDS}


def test_every_law_holds_for_the_reference(reference: list[Study]) -> None:
    assert set().union(*(study.holding for study in reference)) == declared_by(ASSIGNMENT).laws.keys()


@pytest.mark.parametrize(
    ("path", "old", "new", "broken", "unclear"),
    [
        (NORM, "mean_square + ", "mean_square - ", "norm_eps_inside_sqrt", "norm_groups"),
        (NORM, "dim=-1, keepdim=True)  #", "dim=1, keepdim=True)  #", "norm_groups", ""),
        (NORM, "/ torch.sqrt(", "* torch.sqrt(", "norm_groups", "norm_float32_inside"),
        (NORM, "empty(hidden_size", "empty(2, 1, hidden_size", "", "norm_groups norm_gamma"),
        (NORM, "uniform_(self.gamma, *self.init_range", "uniform_(self.gamma, 2.0, 9.0", "", "norm_init_and_reset"),
        (ROPE, "ratio = 2 * -(", "ratio = 1 + 2 * -(", "rope_smallest_even_ratio", "rope_dynamic"),
        (ROPE, "seq_len > cos", "seq_len >= cos", "rope_boundary", "rope_base"),
        (ROPE, "ratio > 1 else", "ratio >= 1 else", "", "rope_base"),
        (ROPE, "base**-exponents", "base**exponents", "", "rope_base"),
        (ROTARY, "rotated_half * sin", "rotated_half / sin", "rotary_pairing_and_sign", ""),
        (VOCAB, "rows < 0", "rows <= 0", "shard_backward", ""),
        (VOCAB, "normal_(self.shard, self.init_mean, ", "normal_(self.shard, self.init_mean, 9 * ", "", "shard_seed"),
    ],
    ids=[
        "the mean is right, and eps is not",
        "the mean of every group is another one",
        "a product needs more digits, but is made in the same dtype",
        "right values in another shape",
        "another range",
        "another ratio is kept",
        "at the end of the tables, another base",
        "without scaling, a head of two divides by zero",
        "the base is wrong before anything stretches it",
        "right at 90 degrees only",
        "the first owned id sends nothing",
        "rows of its own with another spread",
    ],
)
def test_laws_leave_out_what_can_be_argued_about(
    start: Counting, path: str, old: str, new: str, broken: str, unclear: str
) -> None:
    declared, files = declared_by(ASSIGNMENT), ASSIGNMENT.solution()
    assert files[path].count(old) == 1
    laws = {name: declared.laws[name] for name in f"{broken} {unclear}".split()}
    task = ASSIGNMENT.rubric.task_of(next(iter(laws)))
    calls = [Call(task=task.id, code="1")]
    base = version(start, files, task, calls, laws)
    found = version(start, {**files, path: files[path].replace(old, new)}, task, calls, laws, base)
    assert found is not None
    assert ({*found.broken}, {*found.unclear}) == ({*broken.split()}, {*unclear.split()})


@pytest.mark.parametrize("of", [ASSIGNMENT, SMALL], ids=["whole", "small"])
def test_code_in_questions_has_no_comment_in_one_language(of: Assignment) -> None:
    comments = [text for call in declared_by(of).calls for text in re.findall("#.*", call.whole)]
    assert [text for text in comments if re.search(r"[a-z]{2} [a-z]{2}", text)] == []


def halves(option: str) -> list[str]:
    """What an option says that each of two lines holds."""
    return [line.partition(": ")[2] for line in option.split("\n")]


def texts(version: Version) -> set[str]:
    return {value.text() for run in version.outcomes.values() for value in run.told.values()}


def test_the_right_option_is_what_the_lines_hold_and_no_other_option_is(reference: list[Study]) -> None:
    """In new workers, too: they give the same questions, as a test below shows."""
    checked = Counter[str]()
    for study in reference:
        told = {
            (kind, place, call.code.strip()): value
            for call, run in study.own.outcomes.items()
            for (kind, place), value in run.told.items()
        }
        for question in pool([study]):
            if question.kind in ("predict", "shape", "growth"):
                places = [edit.place for edit in question.edits]
                values = [told[question.kind, place, question.blocks[0]].text(2) for place in places]
                options = [[Value(text).text(2) for text in halves(option)] for option in question.options]
                assert [number for number, option in enumerate(options) if option == values] == [
                    question.options.index(question.answer)
                ], question
                checked[question.kind] += 1
    assert min(checked[kind] for kind in ("predict", "shape", "growth")) > 10


def test_no_question_shows_a_student_a_line_of_their_code(reference: list[Study]) -> None:
    """Nor what an edit makes of it; the examiner reads both."""
    for study in reference:
        for question in pool([study]):
            line = study.lines[question.edits[0].place]
            assert question.edits[0].old == line
            shown = [question.prompt, *question.blocks, *(option for option in question.options)]
            assert not [text for text in shown if line in text]
            assert not [text for text in shown if len(question.edits[0].new) > 6 and question.edits[0].new in text]
            named = question.options if question.kind == "find" else [question.prompt]
            assert any(re.search(rf"\blines? {question.edits[0].place[1]}\b", text) for text in named)


def test_an_alteration_to_find_is_among_others_of_its_file_that_do_not_break_the_property(
    reference: list[Study],
) -> None:
    asked = [(study, question) for study in reference for question in pool([study]) if question.kind == "find"]
    for study, question in asked:
        edits = {edit: (edit, version) for edit, version in study.edited}
        law = next(name for name in study.holding if TITLES[name] in question.prompt)
        chosen = [edits[edit] for edit in question.edits]
        assert len(question.options) == len(chosen)
        assert [law in version.broken for _, version in chosen].count(True) == 1
        assert not any(law in version.unclear for _, version in chosen)
        assert question.answer == f"line {question.edits[0].place[1]}"
        assert law in chosen[0][1].broken
        assert {edit.place[0] for edit, _ in chosen} == {question.edits[0].place[0]}
    assert len(asked) >= 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_options_of_any_question_can_be_confused(reference: list[Study], language: str) -> None:
    for question in pool(reference, language=language):
        texts = ["".join(option.split()) for option in question.options]
        assert len(texts) == 4, question
        assert all(one != other for one, other in combinations(texts, 2)), question


def test_no_value_stands_out_or_is_asked_more_often_than_others_of_its_call(reference: list[Study]) -> None:
    """Each option is what lines of the submission hold, and each value is in two of the four options for a line."""
    checked = 0
    for study in reference:
        given = texts(study.own)
        asked = [question for question in pool([study]) if question.kind in ("predict", "shape", "growth")]
        for question in asked:
            columns = [*zip(*map(halves, question.options), strict=True)]
            assert {text for column in columns for text in column} <= given
            assert [sorted(Counter(column).values()) for column in columns] == [[2, 2], [2, 2]]
            assert [edit.place for edit in question.edits] == sorted(edit.place for edit in question.edits)
        about = Counter((question.kind, question.blocks[0], *question.edits) for question in asked)
        assert set(about.values()) <= {1}, "no two lines are asked about twice in a call"
        values = [(one, [{*column} for column in zip(*map(halves, one.options), strict=True)]) for one in asked]
        answers = Counter((one.kind, one.blocks[0], text) for one in asked for text in halves(one.answer))
        offered = Counter((one.kind, one.blocks[0], text) for one, both in values for texts in both for text in texts)
        assert set(answers.values()) <= {2}
        assert {offered[one] for one in answers} <= {4}, "as often wrong as right"
        checked += len(asked)
    assert checked > 40


def test_an_option_is_short_lines_and_its_other_values_are_held_close_to_the_line(
    reference: list[Study], styled: tuple[list[Study], int]
) -> None:
    """Else its path or its line number would tell who has not read the file which values it cannot hold."""
    close = Counter[bool]()
    for study in [*reference, *styled[0]]:
        for question in (one for one in pool([study]) if one.kind in ("predict", "shape", "growth")):
            assert max(len(line) for option in question.options for line in option.split("\n")) <= 85
            times = [
                {text.count(";") for text in column} for column in zip(*map(halves, question.options), strict=True)
            ]
            assert all(len(one) == 1 for one in times), "nor does how often the line runs"
            columns = [*zip(*map(halves, question.options), strict=True)]
            numbers = [{text[0] in "-0123456789" for text in column} for column in columns]
            assert all(len(one) == 1 for one in numbers), "nor is one of them a number, and the other a tensor"
            runs = [run for call, run in study.own.outcomes.items() if call.code.strip() == question.blocks[0]]
            for edit, texts in zip(question.edits, zip(*map(halves, question.options), strict=True), strict=True):
                held = [(place, value.text()) for run in runs for (_, place), value in run.told.items()]
                files = [{place[0] for place, text in held if text == one} for one in {*texts}]
                close[all(edit.place[0] in one for one in files)] += 1
    assert close[True] > 9 * close[False]


def test_what_the_handout_tells_about_a_call_is_no_answer(reference: list[Study]) -> None:
    """Neither arguments nor the result, whatever their dtype and view: who knows the assignment knows their numbers."""
    call = "rope = NTKAwareRoPE(dim=2, max_seq_len=4)"
    (run,) = (run for one, run in reference[3].own.outcomes.items() if one.code.strip().startswith(call))
    assert run.value.text() == "float32 [[[[1.0, 0.0]], [[0.54, 0.841]]]]"
    values = [value.text() for (kind, _), value in run.told.items() if kind != "growth"]
    assert [text for text in values if re.sub(r"[^-\d.,]", "", text.partition(" ")[2]) == "1.0,0.0,0.54,0.841"] == []
    assert [text for text in values if text.endswith((" [1, 2, 1, 2]", " [[[[1.0, 0.0]], [[1.0, 0.0]]]]"))] == []
    assert values


@pytest.mark.parametrize("kind", ["what_if", "why"])
def test_which_of_three_change_is_told_by_running_the_edited_file_and_each_option_is_right_once(
    reference: list[Study], styled: tuple[list[Study], int], kind: str
) -> None:
    answers, offered = Counter[str](), Counter[str]()
    for study in [*reference, *styled[0]]:
        calls, versions = {call.whole: call for call in study.own.outcomes}, dict(study.edited)
        asked = [question for question in pool([study]) if question.kind == kind]
        for question in asked:
            version = versions[question.edits[0]]
            if kind == "what_if":
                named = [block.partition("\n")[2] for block in question.blocks]
                pairs = [(study.own.outcomes[calls[code]], version.outcomes[calls[code]]) for code in named]
                changed = [one.value.text() != other.value.text() for one, other in pairs]
                assert changed == [one.value != other.value for one, other in pairs], "nor does rounding hide a change"
            else:
                named = [line.partition(". ")[2] for line in question.blocks[0].split("\n")]
                changed = [title in {TITLES[law] for law in version.broken} for title in named]
                assert not {TITLES[law] for law in version.unclear} & {*named}
            numbers = [str(number) for number, one in enumerate(changed, 1) if one]
            assert question.answer == (", ".join(numbers) or "none of them")
        groups = [[two for two in asked if two.blocks == one.blocks] for one in asked]
        assert all(len({one.answer for one in group}) == len(group) for group in groups)
        uneven = 0
        for group in (group for group in groups if len(group) <= len(group[0].options)):
            right, shown = (Counter("".join(texts)) for texts in ([one.answer for one in group], group[0].options))
            uneven += [shown[n] * len(group) for n in "123"] != [right[n] * len(group[0].options) for n in "123"]
        assert uneven in (0, len(asked)), (
            "each of three is hit as often in options as in answers, or one group is asked"
        )
        assert not uneven or all(group == groups[0] for group in groups)
        answers.update(question.answer for question in asked)
        offered.update(option for question in asked for option in question.options)
    assert len(answers) >= 4
    assert all(answers[option] <= offered[option] / 2 for option in answers)
    assert answers["none of them"] <= answers.total() / 4


def test_the_same_seed_gives_the_same_questions_and_another_student_gets_others(
    start: Counting, reference: list[Study]
) -> None:
    again, other = (
        next(studies(start, ASSIGNMENT.solution(), ASSIGNMENT.rubric.only("task1"), declared_by(ASSIGNMENT), seed))
        for seed in ("0", "bo")
    )
    assert pool([again]) == pool(reference[:1])
    assert [edit for edit, _ in other.edited] != [edit for edit, _ in again.edited], "they are chosen for each student"
    pools = {"ada": pool(reference), "bo": pool(reference, seed="bo")}
    quizzes = [drawn(name, "anon-abcdefgh", pools[name], 0) for name in ("ada", "ada", "bo")]
    assert quizzes[0] == quizzes[1]
    assert [question.kind for question in quizzes[0].questions] == [*KINDS]
    shared = [question for question in quizzes[0].questions if question in quizzes[2].questions]
    assert len(shared) <= 1
    assert drawn("ada", "anon-abcdefgh", pools["ada"], 1) != quizzes[0]


@long_only
def test_nothing_of_the_reference_or_of_hidden_tests_is_in_the_quiz_of_another_solution(
    styled: tuple[list[Study], int], some_secrets: Path
) -> None:
    """The leak check of a release, on what students get about code that shares no text with the reference."""
    found = pool(styled[0])
    whole = drawn("ada", "anon-abcdefgh", found, 0).model_copy(update={"questions": found})
    given = {
        name: data
        for name, data in written([whole], ASSIGNMENT.rubric, "en")
        if name.startswith(("moodle", "questions", "pages"))
    }
    assert [*leaks({f"{name}.md": data for name, data in given.items()}, some_secrets)] == []


def test_a_wrong_submission_is_asked_about_what_it_does(start: Counting) -> None:
    files = ASSIGNMENT.solution()
    files[NORM] = files[NORM].replace("torch.sqrt(mean_square + self.eps)", "(torch.sqrt(mean_square) + self.eps)")
    found = [*studies(start, files, ASSIGNMENT.rubric.only("task1"), declared_by(ASSIGNMENT), "0")]
    values = [run.value.text() for call, run in found[0].own.outcomes.items() if "eps=16.0" in call.code]
    assert "float32 [[[0.158, -0.158]]]" in values, "3 / (3 + 16), not 3 / 5"
    assert "norm_eps_inside_sqrt" not in found[0].holding
    title = ASSIGNMENT.rubric.properties["norm_eps_inside_sqrt"].title["en"]
    asked = pool(found)
    assert "why" in {question.kind for question in asked}
    assert not [question for question in asked if any(title in block for block in question.blocks)]


def test_stubs_and_code_that_never_ends_are_asked_nothing(start: Counting) -> None:
    assert pool(studied(start, SMALL.stubs(), SMALL), SMALL) == []
    files = SMALL.solution()
    files["src/swiglu.py"] += "\nimport time\nwhile True:\n    time.sleep(60)\n"
    assert {study.task.id for study in studied(start, files, SMALL)} == {"task1"}


def test_what_unwritten_memory_happens_to_hold_decides_nothing(start: Counting) -> None:
    """Fresh memory is often zero, with which a call may return the same twice, or hide that a law is broken."""
    files = SMALL.solution()
    files["src/swiglu.py"] = files["src/swiglu.py"].replace("self.reset_parameters()\n", "pass\n", 1)
    declared, task = declared_by(SMALL), SMALL.rubric.tasks[1]
    laws = {prop.id: declared.laws[prop.id] for prop in task.properties if prop.id in declared.laws}
    assert [version(start, files, task, declared.calls, laws) for _ in range(6)] == [None] * 6


def test_a_submission_that_answers_otherwise_the_second_time_is_asked_nothing(start: Counting) -> None:
    files = SMALL.solution()
    files["src/swiglu.py"] = files["src/swiglu.py"].replace(
        "return (gate", "import time\n        return time.time_ns() % 999 * (gate"
    )
    assert {study.task.id for study in studied(start, files, SMALL)} == {"task1"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("float32 [1.0, 2.0]", "float32 [1.0, 2.0000001]", True),
        ("float32 [0.54, 0.841]", "float32 [0.539, 0.84]", True),
        ("float32 [1.0, 2.0]", "float32 [1.0, 2.1]", False),
        ("float32 [1.0, 2.0]", "float32 [1.0, -2.0]", False),
        ("float32 [0.0]", "float32 [-0.0]", True),
        ("float32 [1.0]", "float16 [1.0]", False),
        ("float32 [1.0]", "float32 [[1.0]]", False),
        ("float32 [1e-05]", "float32 [0.00001]", True),
        ("1000", "1001", False),
        ("32", "int64 32", False),
        ("raises ValueError", "raises TypeError", False),
    ],
)
def test_two_values_are_one_to_a_reader_up_to_rounding(first: str, second: str, same: bool) -> None:
    assert (Value(first).text(2) == Value(second).text(2)) is same


@pytest.mark.parametrize(
    "value", ["[nan, 1.0]", "[inf]", "[1e-07]", "[1234567.0]", "[" + "1.0, " * 99 + "1.0]", "[0.182, -0.417, 0.733]"]
)
def test_what_nobody_computes_in_the_head_is_no_option(value: str) -> None:
    assert not Value(f"float32 {value}").is_readable
    assert Value("float32 [0.447, -0.447, 0.894, 2.5]").is_readable
    assert not Value("uint8 [5056]").is_readable, "the state of a generator"


@pytest.mark.parametrize("of", [ASSIGNMENT, SMALL], ids=["whole", "small"])
def test_the_file_of_calls_and_laws_names_tasks_and_properties_of_the_rubric(of: Assignment) -> None:
    declared = declared_by(of)
    assert {call.task for call in declared.calls} == {task.id for task in of.rubric.tasks}
    assert declared.laws.keys() <= of.rubric.properties.keys()
    assert viva_of(Assignment(SMALL.package, SMALL.folder / "hidden", SMALL.root)) is None


def test_a_submission_that_lies_about_its_lines_is_asked_about_none_that_it_has_not(reference: list[Study]) -> None:
    study = reference[0]
    first = next(iter(study.lines))
    forged = {("shape", ("x.py", 1)): Value("a [1]"), ("shape", (NORM, 9999)): Value("a [2]"), ("x", first): Value("a")}
    runs = {call: replace(run, told={**run.told, **forged}) for call, run in study.own.outcomes.items()}
    asked = pool([replace(study, own=replace(study.own, outcomes=runs))])
    assert asked
    assert {question.edits[0].place for question in asked} <= study.lines.keys()


class Liar:
    """A worker in which a submission answers for the grader."""

    def request(self, *_: object) -> dict[str, Any]:
        """A reply that no file can hold."""
        told = [["shape", NORM, 71, "\ud800 [1]"]]
        return {"value": {"outcomes": [{"value": "1", "steps": [[NORM, 71]], "told": told}]}}

    def close(self) -> None:
        """Nothing to end."""


def test_a_reply_that_no_file_can_hold_is_none() -> None:
    task = ASSIGNMENT.rubric.tasks[0]
    start: Any = lambda _: Liar()  # noqa: E731 # a protocol with more than is used here
    assert version(start, {}, task, [Call(task=task.id, code="1")], {}) is None


def test_a_gradient_that_is_kept_sparse_is_a_tensor_like_any_other(start: Counting) -> None:
    files, task = ASSIGNMENT.solution(), ASSIGNMENT.rubric.tasks[1]
    files[VOCAB] = files[VOCAB].replace("self.table.to(input_ids.device))", "self.table, sparse=True)")
    code = "embed = VocabEmbedding(4, 1)\nembed(torch.tensor([[1, 1]])).sum().backward()\nnext(embed.parameters()).grad"
    found = version(start, files, task, [Call(task=task.id, code=code)], {})
    assert found is not None
    assert [run.value.text() for run in found.outcomes.values()] == ["float32 [[0.0], [2.0], [0.0], [0.0]]"]


PROBE = """
class A:
    def grow(self, n):
        self.size = n + 1
        rows = [k * 2 for k in range(n)]
        total = torch.tensor(
            rows
        )
        pair = total, torch.ones(n)
        same = torch.ones(n), torch.ones(n)
        lone = (torch.ones(n),)
        size = total, n
        return torch.ones(n)
"""


def called(start: Counting, more: str, *codes: str) -> list[Outcome]:
    """What calls give in the second file of the small assignment with more code at its end, its module being ``m``."""
    task = SMALL.rubric.tasks[1]
    path = task.file_of(task.names[0])
    files = {**SMALL.solution(), path: SMALL.solution()[path] + more}
    before = "import sys\nm = sys.modules[SwiGLU.__module__]\n"
    found = version(start, files, task, [Call(task=task.id, code=before + code) for code in codes], {})
    assert found is not None
    return [*found.outcomes.values()]


def test_lines_tell_their_value_their_shape_and_what_they_hold_in_turn(start: Counting) -> None:
    run, raised = called(start, PROBE, "a = m.A()\na.grow(2)\na.grow(3)", "a = m.A()\na.grow(2)\na.grow(-1)")
    first = (SMALL.solution()["src/swiglu.py"] + PROBE).split("\n").index("class A:") + 1
    assert raised.value == "raises RuntimeError"
    assert raised.told == {}, "the line that raised assigned nothing"
    told = {(kind, line - first): value.text() for (kind, (_, line)), value in run.told.items()}
    assert told == {
        ("growth", 2): "3; 4",
        ("growth", 7): "(int64 [2], float32 [2]); (int64 [3], float32 [3])",
        ("growth", 8): "(float32 [2], float32 [2]); (float32 [3], float32 [3])",
        ("growth", 9): "(float32 [2],); (float32 [3],)",
        ("growth", 11): "float32 [2]; float32 [3]",
    }


ARGUMENTS = """
def sized(x):
    size = x.shape
    rows = torch.Size([x.shape[0]])
    return x + 1

class Kept:
    def __init__(self, rows=7):
        self.rows = rows
        self.exact = rows * 1.0
        self.more = rows + 1
"""


@pytest.mark.parametrize(
    ("call", "left"),
    [("m.sized(torch.ones(2, 3))", "torch.Size([2])"), ("m.Kept() and 1", "8")],
    ids=["its size, in whatever form", "a default, which the handout gives"],
)
def test_what_an_argument_tells_is_no_answer(start: Counting, call: str, left: str) -> None:
    """A reader of the handout could answer without knowing the line."""
    (run,) = called(start, ARGUMENTS, call)
    assert [value for (kind, _), value in run.told.items() if kind == "predict"] == [left]


CACHED = """
import functools

@functools.lru_cache
def table(n):
    rows = torch.ones(n)
    return rows
"""


def test_each_call_runs_on_a_newly_imported_submission(start: Counting) -> None:
    """A question says nothing of other calls, so what these leave in a cache is no part of the answer."""
    first, second = called(start, CACHED, "len(m.table(2))", "len(m.table(2)), len(m.table(2))")
    told = {kind: value for (kind, _), value in first.told.items()}
    assert (told["shape"], told["predict"]) == ("float32 [2]", "float32 [1.0, 1.0]")
    assert second.told == first.told


def test_an_edit_after_which_something_raises_is_no_version(start: Counting, reference: list[Study]) -> None:
    """Who could say that a shard of no rows has one parameter, or that a crash changes no id?"""
    for study in reference:
        for _, edited in study.edited:
            raising = [call for call, run in edited.outcomes.items() if run.value.startswith("raises ")]
            assert all(study.own.outcomes[call].value.startswith("raises ") for call in raising)
    task, files = SMALL.rubric.tasks[1], SMALL.solution()
    calls = [Call(task=task.id, code=one) for one in ("SwiGLU(2, 3)(torch.ones(1, 1, 2)).shape", "SwiGLU(2, 3) and 1")]
    base = version(start, files, task, calls, {})
    path = task.file_of(task.names[0])
    crashing = {**files, path: files[path].replace("return (gate", "return None * (gate")}
    assert base is not None
    assert version(start, crashing, task, calls, {}) is not None
    assert version(start, crashing, task, calls, {}, base) is None
    found = version(start, crashing, task, calls[1:], {"law": calls[0].code}, base)
    assert found is not None
    assert ({*found.broken}, {*found.unclear}) == (set(), {"law"})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "slips", [[CALL], [PASS], [CALL, PASS], ["+ ↔ -", NEXT, "mean ↔ sum"]], ids=["calls", "statements", "both", "words"]
)
def test_a_question_names_the_slips_of_all_edits_of_its_group_so_that_it_tells_nothing_of_one(
    reference: list[Study], slips: list[str], language: str
) -> None:
    made = [
        [(replace(edit, slip=slip), version) for (edit, version), slip in zip(one.edited, cycle(slips), strict=False)]
        for one in reference
    ]
    changed = [replace(one, edited=edited) for one, edited in zip(reference, made, strict=True) if len(edited) > 2]
    asked = [one for one in pool(changed, language=language) if one.kind in ("what_if", "find", "why")]
    assert {one.kind for one in asked} == {"what_if", "find", "why"}
    names, slip_of = ("+ ↔ -", NEXT, "mean ↔ sum"), {edit: edit.slip for study in changed for edit, _ in study.edited}
    for question in asked:
        alike = [other for other in asked if other.blocks == question.blocks and other.kind == question.kind != "find"]
        made_of = {slip_of[edit] for one in (question, *alike) for edit in one.edits}
        assert {name for name in names if name in question.prompt} == made_of & {*names}
        assert ("`pass`" in question.prompt, "x.float()" in question.prompt) == (PASS in made_of, CALL in made_of)


def test_a_question_is_read_at_a_glance(reference: list[Study], styled: tuple[list[Study], int]) -> None:
    """At most sixty words come before its code; a file is named without its folder, if no other has its name."""
    for question in pool([*reference, *styled[0]]):
        assert len(question.prompt.split()) <= 60, question.prompt
    study = reference[0]
    assert any("your norm.py" in one.prompt for one in pool([study]))
    twice = replace(study, lines={**study.lines, ("src/norm.py", 1): "x = 1"})
    named = [question.prompt for question in pool([twice]) if "norm.py" in question.prompt]
    assert named
    assert all(f"your {NORM}" in prompt for prompt in named)


def test_questions_of_a_quiz_are_about_distant_lines_of_several_files() -> None:
    def made(kind: str, path: str, line: int, others: Sequence[int] = ()) -> Question:
        edits = [Edit((path, number), "x", "y") for number in (line, *others)]
        return Question(kind, kind, [f"{path}:{line}"], "abcd", "a", "", edits, 1)

    near = [made(kind, "a.py", line) for kind in KINDS for line in (9, 10, 11) if kind != "find"]
    finds = [made("find", "a.py", 40, (9, 10, 11)), made("find", "a.py", 30, (31, 32, 33))]
    far = [made(kind, f"{kind}.py", 20) for kind in KINDS if kind != "find"]
    for seed in range(9):
        asked = drawn("ada", "anon-abcdefgh", [*near, *finds, *far], seed).questions
        assert [one.kind for one in asked] == [*KINDS]
        assert all(one.about & other.about <= {"a.py"} for one, other in combinations(asked, 2))
        assert len({one.edits[0].place[0] for one in asked}) >= 5


def test_the_harder_half_of_a_kind_is_drawn_first_even_about_one_file() -> None:
    edits = {number: [Edit((f"{number if number < 12 else 'a'}.py", 1), "x")] for number in range(24)}
    made = [Question(KINDS[n % 6], str(n), [f"{n}"], "abcd", "a", "", edits[n], n) for n in range(24)]
    for seed in range(5):
        assert all(one.difficulty >= 12 for one in drawn("ada", "anon-abcdefgh", made, seed).questions)


def test_difficulty_counts_the_lines_that_run_until_those_asked_about_have_run() -> None:
    task, places = ASSIGNMENT.rubric.tasks[0], [("a.py", number) for number in range(1, 10)]
    told = {("predict", places[n]): Value(f"int64 [{n}]") for n in (1, 2, 4, 6)}
    steps = [*places[:5], *places[3:]]  # two lines run twice
    base = Version({Call(task=task.id, code="1"): Outcome(Value("1"), steps, told)}, frozenset(), frozenset())
    lines = {place: f"x = f({place[1]})" for place in places}
    asked = pool([Study(task, lines, base, frozenset(), [])])
    assert len(asked) == 4
    assert all(one.difficulty == max(edit.place[1] for edit in one.edits) for one in asked)


def test_difficulty_of_an_edit_counts_the_lines_that_run_from_it_on_in_the_calls_shown_or_in_the_shortest(
    reference: list[Study],
) -> None:
    for study in reference:
        runs = {call.whole: [*run.steps] for call, run in study.own.outcomes.items()}
        for one in (one for one in pool([study]) if one.kind in ("what_if", "why")):
            place = one.edits[0].place
            shown = [runs[text] for text in (block.partition("\n")[2] for block in one.blocks) if text in runs]
            least = shown or [min((run for run in runs.values() if place in run), key=len)]
            assert one.difficulty == len({place}.union(*(run[run.index(place) :] for run in least if place in run)))


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("predict x = input.double()", False),
        ("predict x = input.to(torch.promote_types(input.dtype, torch.float32))", False),
        ("predict ids = input_ids.detach().clone()", False),
        ("predict seq_len = input.shape[1]", False),
        ("predict hidden = x.shape[-1]", False),
        ("predict b = float(base)", False),
        ("predict return out.to(home)", False),
        ("predict first = self.first", False),
        ("shape tables = self.tables.float()", False),
        ("shape tables = self.tables", True),  # of a tensor that the module keeps
        ("predict x = input.float().square()", True),
        ("predict x = input.to(y) * z.to(y)", True),
        ("predict self.seed += rank", True),
        ("predict first = rank * n", True),
    ],
)
def test_a_line_that_copies_or_converts_is_no_question(question: str, is_asked: bool) -> None:
    assert (COPY.fullmatch(question) is None) is is_asked
