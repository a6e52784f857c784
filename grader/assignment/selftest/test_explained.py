"""What students read of their mistakes in the public tests; a sample here, and all of it with ``GRADER_LONG=1``.

Errors that their code raises, names that differ from the stub's, random draws; and, in two steps, a question, then
where to look and the mistake's name. Mistakes are edits of the reference by hand. They are recognised by the signatures
of the model of mistakes, which writes them in other words: those of the same names and a few of the others.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import submission
from grader.lab.release.leaks import SHARED
from grader.lab.signatures.mistakes import Signatures, Trial, known, more_than_mistakes, written
from grader.lab.signatures.public_tests import PublicTests
from grader.selftest import LONG, some
from grader.selftest.submissions import edited, write_folder
from grader.selftest.warm import WarmPython
from grader.specimens.variants import Variant

pytestmark = pytest.mark.slow

Tell = Callable[..., str]
NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
TURN, ROPE = "src/functional.py", "src/modeling/pos_emb.py"


@pytest.fixture
def tell(own: Path, run: WarmPython) -> Tell:
    """``tell(edits, "tests", "--all")``: what a student's command prints about the reference with these edits."""

    def told(edits: Iterable[tuple[str, str, str]], *command: str) -> str:
        return run(write_folder(own, edited(*edits, of=ASSIGNMENT)), *command).stdout

    return told


@pytest.fixture
def told(tell: Tell) -> Tell:
    """The same, with lines joined."""
    return lambda *edits_and_command: " ".join(tell(*edits_and_command).split())


@pytest.fixture
def with_second_device(own: Path) -> None:
    """The tests simulate a second device, as in the course's own repository."""
    shutil.copytree(REPOSITORY / SHARED / "second_device", own / "tests/harness/shared/second_device")


# ── A sentence and a question ───────────────────────────────────────────────────────────────────────────────────────

MATHEMATICS = ("How many root mean squares", "Reshape [b, s, h]")  # asked and said about groups
FOREIGN = "rows.masked_fill(foreign, 0)"


class Case(NamedTuple):
    """A mistake: its file, the task, what takes the place of what there, what is said, and what is not."""

    file: str
    task: int
    edits: dict[str, str]
    said: tuple[str, ...]
    unsaid: tuple[str, ...] = ()


CASES = {
    "a shape error": Case(ROPE, 4, {"cos[:seq_len], sin[:seq_len]": "cos, sin"},
        ("src/modeling/pos_emb.py:92 -> src/functional.py:30 return (input * cos",
         "input float32 [1, 7, 1, 8], cos float32 [8, 1, 8]", "Is the line itself wrong, or does an earlier one")),
    "an unknown variable": Case(VOCAB, 3, {"foreign = (rows < 0) |": "foriegn = (rows < 0) |"},
        ("name 'foreign' is not defined. Did you mean foriegn?",), ("which ids does its rank own",)),
    "a renamed class": Case(NORM, 1, {"class GroupRMSNorm": "class GroupRmsNorm"},
        ("Your code has GroupRmsNorm: did you mean GroupRMSNorm?", "(so tests of task 1 could not run)")),
    "a renamed argument of a function": Case(TURN, 4,
        {"cos: Tensor, sin: Tensor)": "cosine: Tensor, sin: Tensor)",
         "for table in (cos, sin)": "for table in (cosine, sin)"},
        ("unexpected keyword argument 'cos'. Your code has cosine: did you mean cos?",),
        ("a quarter turn make of (1, 0)",)),
    "a misspelled method": Case(NORM, 1, {"def forward(": "def foward("},
        ('missing the required "forward" function. Your code has foward: did you mean forward?',), MATHEMATICS),
    "a misspelled constructor": Case(NORM, 1, {"def __init__(": "def __int__("},
        ("unexpected keyword argument 'hidden_size'. Your code has __int__: did you mean __init__?",), MATHEMATICS),
    "a method of another name": Case(NORM, 1, {"def forward(": "def call("},
        ("The class has no method forward: is its def spelt and indented as in the stub?",), MATHEMATICS),
    "a parameter that is not kept": Case(VOCAB, 2,
        {"self.table = nn.Parameter(": "self.table = (",
         "nn.init.normal_(self.table,": "nn.init.normal_(self.table.data,"},
        ("there is one parameter (float32-cpu-table)", "registered parameters: none; expected 1"),
        ("means its default",)),
    "a truth value of many": Case(VOCAB, 3,
        {"(rows < 0) | (rows >= self.shard.shape[0])": "rows < 0 or rows >= self.shard.shape[0]"},
        ("What should happen to each element?", "operands rows int64 [1, 4] from 0 to 3"),
        ("Is the line itself wrong",)),
    "a name of Python's own": Case(VOCAB, 2, {"embedding(input_ids,": "embedding(input,"},
        ("operands input = <built-in function input>, self.table float32 [16, 8]",)),
    "ids in turn": Case(VOCAB, 3,
        {"rows = input_ids - self.first_id": "rows = input_ids // 4",
         "foreign = (rows < 0) | (rows >= self.shard.shape[0])": "foreign = input_ids % 4 != self.first_id // 4"},
        ('gives exactly zero: failed in "an id of another rank gives zeros (cpu-rank-0)".',
         'rank-0)". Wrong for these ids: 4, 8, 12.')),
    "a missing return": Case(ROPE, 4, {"        return apply_rotary": "        apply_rotary"},
        ("received None, expected one tensor: is a return missing?",), ("With k = 1 nothing is stretched",)),
    "a shape that a test's own line cannot use": Case(TURN, 4, {".to(input.dtype)": ".to(input.dtype).flatten(2)"},
        ("received shape [", "so no number has been compared yet"), ("IndexError", "With k = 1 nothing is stretched")),
    "an in-place operation that torch refuses": Case(NORM, 1,
        {"groups / torch.sqrt(mean_square + self.eps)": "groups.div_(torch.sqrt(mean_square + self.eps))"},
        ("Does it work in place",), ("Which of its values, shapes and dtypes",)),
    "the size of a parameter": Case(NORM, 1, {"torch.empty(hidden_size,": "torch.empty(group_size,"},
        ("In gamma: received shape [4], expected [24]",), MATHEMATICS),
    "a rotation without gradient": Case(ROPE, 4,
        {"return apply_rotary_pos_emb(input, cos": "return apply_rotary_pos_emb(input.detach(), cos"},
        ("does not require grad", "Where is the gradient cut"), ("Which type and shape does it have",)),
    "a package": Case(NORM, 1, {"import torch\n": "import json, pytest\nimport torch\n"},
        ("src/modeling/norm.py imports pytest; only Python and torch are guaranteed during grading",)),
    "mean and standard deviation swapped": Case(VOCAB, 2,
        {"(self.table, self.init_mean, self.init_std,": "(self.table, self.init_std, self.init_mean,"},
        ("Every value is the same", "are the arguments in the right order"),
        ("between setting the seed and the draw",)),
    "a reset that nobody calls": Case(NORM, 1, {"device=device))\n        self.reset_parameters()": "device=device))"},
        ("After a call of reset_parameters(), the values are correct.", "Who calls reset_parameters"),
        ("between setting the seed and the draw",)),
    "a check the wrong way round": Case(NORM, 1, {"hidden_size % group_size != 0": "group_size % hidden_size != 0"},
        ("Your own check rejects what the docstring allows",
         "norm.py:44 if group_size % hidden_size != 0: raise ValueError( operands group_size = 4, hidden_size = 24"),
        ("shapes and dtypes",)),
    "the mask of an earlier call": Case(VOCAB, 3,
        {"self.first_id = rank * rows": "self.first_id, self.foreign = rank * rows, None",
         "        foreign = (rows": "        foreign = self.foreign if self.foreign is not None else (rows",
         "        embedded = nn": "        self.foreign = foreign if rows.dim() == 2 and len(rows) == 2 else None\n"
             "        embedded = nn",
         FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)"},
        ("a mask, ids, a converted copy", "every value of these rows: [0, 0], [0, 2]"), ("shifts or masks the ids",)),
    "a pair returned": Case(TURN, 4, {".to(input.dtype)": ".to(input.dtype), cos"},
        ("of type tuple (float32 [2, 3, 3, 8], float32 [3, 1, 8]), expected one tensor: what does your return ",
         "the same angles serve every batch row and head: the same error")),
    "growth at equality": Case(ROPE, 4, {"seq_len > cos.shape[0]": "seq_len >= cos.shape[0]"},
        ("In the cosines and sines for s = 12, ms = 4, k = 3:",), ("The right numbers are there",)),
    "a dropout": Case(NORM, 1,
        {"groups / torch.sqrt": "nn.functional.dropout(groups, 0.5, self.training) / torch.sqrt"},
        ("What differs in training",), MATHEMATICS[:1]),
    "the dtype of gamma": Case(NORM, 1, {").to(input.dtype)  #": ").to(self.gamma.dtype)  #"},
        ("what decides its dtype there",), MATHEMATICS[:1]),
    "a buffer's registration kept in its place": Case(ROPE, 4,
        {'        self.register_buffer("cos"': '        self.cos = self.register_buffer("cos"'},
        ("the lowest is divided by k; defaults are the stub's tested", "operands cos = None",
         "Which line set it last, and what does the right-hand side of that line return?"),
        ("✗ gradients flow back through the rotation tested",)),
    "eps as a floor": Case(NORM, 1,
        {"torch.sqrt(mean_square + self.eps)": "torch.sqrt(mean_square.clamp_min(self.eps))"},
        ("where does eps enter, by which operation", "passes the same test with float32-cpu-zeros question"),
        ("Try x = 0",)),
}  # fmt: skip


@pytest.mark.parametrize("case", some(CASES.values(), 2), ids=some(CASES, 2))
def test_what_is_said_leads_to_the_cause(told: Tell, case: Case) -> None:
    page = told([(case.file, *edit) for edit in case.edits.items()], "tests", "--task", str(case.task), "--hint", "2")
    assert [text for text in case.said if text not in page] == []
    assert [text for text in case.unsaid if text in page] == []


def test_a_file_of_two_tasks_that_cannot_be_parsed_names_both(told: Tell) -> None:
    unclosed = [(VOCAB, "torch.empty(rows, emb_size", "(torch.empty(rows, emb_size")]
    said, chinese = (told(unclosed, "tests", "--lang", language) for language in ("en", "zh"))
    assert "'(' was never closed: self.shard = nn.Parameter((torch.empty(rows," in said
    assert "(so tests of task 2 and task 3 could not run)" in said
    assert "（任务2、3中有测试因此无法运行）" in chinese.replace(" ", "")


def test_an_import_that_fails_here_and_in_the_grader_is_told_once(told: Tell) -> None:
    page = told([(ROPE, "from ..functional", "from functional")], "tests")
    assert page.count("from ..functional import …") == 1
    assert "Before you submit" not in page


def test_plain_pytest_shows_the_line_and_the_question_and_no_line_of_the_harness(told: Tell) -> None:
    file, _, edits, *_ = CASES["a shape error"]
    page = told([(file, *edit) for edit in edits.items()], "pytest", "-q", "tests/test_pos_emb.py", "-k", "base-10000")
    assert "src/functional.py:30: RuntimeError" in page
    assert "tests/harness" not in page
    assert "Is the line itself wrong, or does an earlier one" in page
    assert "With k = 1 nothing is stretched" not in page


@pytest.mark.usefixtures("with_second_device")
def test_a_table_that_stays_behind_is_asked_about_before_the_line_where_devices_meet(told: Tell) -> None:
    plain = [
        (ROPE, f'self.register_buffer("{name}", {name}, persistent=False)', f"self.{name} = {name}")
        for name in ("cos", "sin")
    ]
    edits = [*plain, (TURN, "table.to(input.device)", "table")]
    page = told(edits, "tests", "--task", "4", "--all", "--verbose")
    assert "does module.to(device) move?" in page
    assert "Move tensors with .to(input.device)" not in page


@pytest.mark.usefixtures("with_second_device")
def test_zeros_of_a_shortcut_are_looked_at_on_a_second_device(told: Tell) -> None:
    zeros = "torch.zeros(*input_ids.shape, self.shard.shape[1], dtype=self.shard.dtype)"
    shortcut = f"        if foreign.all():\n            return {zeros}\n        embedded = nn"
    page = told([(VOCAB, "        embedded = nn", shortcut)], "tests", "--task", "3")
    assert "a moved module answers where it was moved to" in page
    assert "received a tensor on cpu, expected gpu" in page


@pytest.mark.usefixtures("with_second_device")
def test_code_that_checks_for_cuda_loses_nothing_on_a_device_that_is_not_cuda(told: Tell) -> None:
    checks = (NORM, "torch.Generator(self.gamma.device)", 'torch.Generator("cuda" if self.gamma.is_cuda else "cpu")')
    assert "42 / 42" in told([checks], "tests", "--task", "1")


def test_a_named_case_is_told_the_law_of_that_case(told: Tell) -> None:
    eps = (NORM, "mean_square + self.eps", "mean_square + self.eps * (self.eps < 1)")
    assert "sqrt(1² + 15) = 4" in told([eps], "tests", "--task", "1", "--lang", "zh")


# ── In two steps, with signatures ─────────────────────────────────────────────────────────────────────────────────────

CUT = "input.to(compute_dtype).unflatten(-1, (-1, self.group_size))"
ROOT = "torch.sqrt(mean_square + self.eps)"
HALF = "torch.cat((-second, first), dim=-1)"


class Mistake(NamedTuple):
    """A mistake, and what is right to say about it; nothing about ``where`` if every value is wrong."""

    file: str
    edits: dict[str, str]
    failed: str
    asked: str
    where: str
    name: str

    def told(self, tell: Tell, *options: str) -> str:
        """What the public tests of the task print."""
        task = 1 + ASSIGNMENT.rubric.tasks.index(ASSIGNMENT.rubric.task_of(self.failed))
        edits = [(self.file, old, new) for old, new in self.edits.items()]
        return tell(edits, "tests", "--task", str(task), *options)


MISTAKES = {
    "one root mean square for all of h": Mistake(NORM, {CUT: "input.to(compute_dtype).unsqueeze(-2)"},
        "norm_groups", "How many root mean squares", "", "norm_over_whole_hidden"),
    "eps forgotten": Mistake(NORM, {ROOT: "torch.sqrt(mean_square)"},
        "norm_eps_inside_sqrt", "where does eps enter", "Received values are 4 times", "norm_eps_absent"),
    "1 + gamma": Mistake(NORM, {"* self.gamma.to(input.device)": "* (1 + self.gamma.to(input.device))"},
        "norm_groups", "Is something added to gamma", "Received values are 2 times", "norm_gamma_plus_one"),
    "gamma of one group shared by all": Mistake(NORM,
        {"* self.gamma.to": "* self.gamma[: self.group_size].repeat(len(self.gamma) // self.group_size).to"},
        "norm_gamma", "which element of gamma scales feature j", "dimension 2, of 12: only at 4-11",
        "norm_shared_gamma"),
    "an in-place division": Mistake(NORM, {f"groups / {ROOT}": f"groups.div_({ROOT})"},
        "norm_purity", "Which line writes to it or to a view of it", "over the whole tensor", "input_changed"),
    "seeded before another draw": Mistake(VOCAB,
        {"nn.init.normal_(self.table": "torch.empty_like(self.table).normal_(generator=generator)\n"
             "        nn.init.normal_(self.table"},
        "vocab_init_and_reset", "between setting the seed and the draw", "", "init_after_extra_draw"),
    "<= at the shard's upper edge": Mistake(VOCAB,
        {"rows >= self.shard": "rows > self.shard",
         FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)"},
        "shard_zeros_elsewhere", "Which comparison lets it in", "of 16: only at 4", "shard_neighbour_answered"),
    "neighbours as pairs": Mistake(TURN,
        {"input.chunk(2, dim=-1)": "(input[..., 0::2], input[..., 1::2])",
         HALF: "torch.stack((-second, first), dim=-1).flatten(-2)"},
        "rotary_pairing_and_sign", "which two features form a pair", "over the whole tensor", "rotary_adjacent_pairs"),
    "positions in 16 bits": Mistake(ROPE, {"angles = ": "positions = positions.to(dtype).float()\n        angles = "},
        "rope_exact_angles", "From which position on are your angles wrong", "at 2049", "rope_far_positions"),
    "static modules keep what they have grown": Mistake(ROPE, {"if self.dynamic:": "if True:"},
        "rope_static", "what is different in the module", "dimension", "rope_static_keeps_growth"),
}  # fmt: skip


def trying(_: str, trials: Sequence[Trial]) -> list[Mapping[str, Signatures]]:
    """What known mistakes are recognised by; nothing of those that are not asked for here."""
    asked = {mistake.name for mistake in MISTAKES.values()}
    public, found = PublicTests(), list[Mapping[str, Signatures]]()
    for number, (of, only) in enumerate(trials):
        variant = of if isinstance(of, Variant) else submission(of)
        chosen = LONG or number % 64 == 0 or (of is variant and asked & variant.hints)
        found.append(public.signatures(variant.files, only) if chosen else {})
    return found


@pytest.fixture(scope="module")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What known mistakes are recognised by, one alone at a time."""
    file = tmp_path_factory.mktemp("signatures") / "signatures.json"
    file.write_text(written(known(ASSIGNMENT, trying, pairs=False), ASSIGNMENT.rubric), encoding="utf-8")
    return file


@pytest.fixture
def signed(own: Path, signatures: Path) -> None:
    """The tests have signatures, as students get them."""
    shutil.copy(signatures, own / "tests" / "harness")


def parts_of(told: str, title: str) -> dict[str, str]:
    """What the page says about one property: from each label to its text, on one line."""
    (block,) = re.findall(rf"^✗ {re.escape(title)}\n(    .*\n(?:    .*\n|\n(?=     ))*)", told, re.MULTILINE)
    parts: dict[str, str] = {}
    for line in block.splitlines():
        label, text = line[4:14].strip(), line[14:].strip()
        key = label or [*parts][-1]
        parts[key] = f"{parts[key]} {text}" if key in parts else text
    return parts


def squeezed(text: str) -> str:
    """The text without spaces and line ends, which wrapping moves."""
    return re.sub(r"\s", "", text)


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_question_place_and_name_are_right(mistake: Mistake, tell: Tell) -> None:
    title = ASSIGNMENT.rubric.properties[mistake.failed].title
    known = ASSIGNMENT.rubric.misconception(mistake.name)
    told = mistake.told(tell, "--all", "--hint", "2")
    parts = parts_of(told, title["en"])
    assert mistake.asked in parts["question"]
    assert mistake.where in parts.get("where", "")
    assert ("where" in parts) == bool(mistake.where)  # nothing is said where every value is wrong
    assert parts["mistake"] == f"{known.hint['en']} [{mistake.name}]"
    named = set(re.findall(r"\[(\w+)\]$", told, re.MULTILINE)) & {one.id for one in ASSIGNMENT.rubric.misconceptions}
    assert named == {mistake.name}  # wherever else a mistake is named, it is this one


@pytest.mark.usefixtures("signed")
def test_the_name_is_told_in_chinese(tell: Tell) -> None:
    mistake = MISTAKES["gamma of one group shared by all"]
    told = mistake.told(tell, "--all", "--hint", "2", "--lang", "zh")
    assert squeezed(ASSIGNMENT.rubric.misconception(mistake.name).hint["zh"]) in squeezed(told)


@pytest.mark.usefixtures("signed")
def test_the_first_step_is_a_question_alone(tell: Tell) -> None:
    mistake = MISTAKES["eps forgotten"]
    told = mistake.told(tell)
    parts = parts_of(told, ASSIGNMENT.rubric.properties[mistake.failed].title["en"])
    assert parts["question"].endswith("?")
    assert not {"where", "mistake"} & parts.keys()
    assert "GroupRMSNorm(hidden_size=16, group_size=4, eps=15.0" in parts["called"]
    assert "(which values are wrong, and which known mistake looks like this): python -m tests --hint 2\n" in told


@pytest.mark.usefixtures("signed")
def test_a_line_that_fails_is_not_named_as_a_wrong_result(tell: Tell) -> None:
    """With the number of heads as the length, some cases fail in a line and others give wrong angles."""
    heads = [(ROPE, "seq_len = input.shape[1]", "seq_len = input.shape[2]")]
    told = tell(heads, "tests", "--task", "4", "--hint", "2")
    assert "must match the size of tensor b" in told
    assert "rope_unscaled_angles" not in told


def test_every_question_asks() -> None:
    for prop in ASSIGNMENT.rubric.properties.values():
        assert "?" in prop.question.en, prop.id
        assert "？" in prop.question.zh, prop.id


def test_the_signatures_pass_the_search_for_leaks(signatures: Path) -> None:
    assert [*more_than_mistakes(signatures.read_bytes(), ASSIGNMENT.rubric)] == []
