"""What students read of errors that their code raises, of names that differ from the stub's, and of random draws.

Every second case here, and all with ``GRADER_LONG=1``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.lab.release.leaks import SHARED
from grader.selftest import some
from grader.selftest.submissions import edited, handed_out, write_folder
from grader.selftest.warm import WarmPython

pytestmark = pytest.mark.slow

Tell = Callable[..., str]
NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
TURN, ROPE = "src/functional.py", "src/modeling/pos_emb.py"
MATHEMATICS = ("How many root mean squares", "Reshape [b, s, h]")  # asked and said about groups
FOREIGN = "rows.masked_fill(foreign, 0)"
DRAW = "nn.init.uniform_(self.gamma, *self.init_range, generator=generator)"

# By name: the file, what takes the place of what, the task, what is said, and what is not.
CASES: dict[str, tuple[str, dict[str, str], int, tuple[str, ...], tuple[str, ...]]] = {
    "a shape error": (
        ROPE,
        {"cos[:seq_len], sin[:seq_len]": "cos, sin"},
        4,
        (
            "src/modeling/pos_emb.py:92 -> src/functional.py:30 return (input * cos",
            "input float32 [1, 7, 1, 8], cos float32 [8, 1, 8]",
            "Is the line itself wrong, or does an earlier one",
        ),
        (),
    ),
    "numbers in a shape error": (
        NORM,
        {"input.to(compute_dtype).unflatten(-1, (-1, self.group_size))": "input.view(-1, 2, 5, self.group_size)"},
        1,
        ("input float32 [2, 3, 24], self.group_size = 4",),
        MATHEMATICS,
    ),
    "an unknown attribute": (
        NORM,
        {"self.eps = eps": "self.epsilon = eps"},
        1,
        ("has no attribute 'eps'. Did you mean epsilon?", "src/modeling/norm.py:79"),
        (*MATHEMATICS, "no ready explanation"),
    ),
    "an unknown variable": (
        VOCAB,
        {"foreign = (rows < 0) |": "foriegn = (rows < 0) |"},
        3,
        ("name 'foreign' is not defined. Did you mean foriegn?",),
        ("which ids does its rank own",),
    ),
    "a renamed class": (
        NORM,
        {"class GroupRMSNorm": "class GroupRmsNorm"},
        1,
        ("Your code has GroupRmsNorm: did you mean GroupRMSNorm?", "(so tests of task 1 could not run)"),
        (),
    ),
    "a renamed argument": (
        NORM,
        {
            "        group_size: int,": "        num_groups: int,",
            "% group_size": "% num_groups",
            "={group_size}": "={num_groups}",
            "self.group_size = group_size": "self.group_size = num_groups",
        },
        1,
        ("unexpected keyword argument 'group_size'. Your code has num_groups: did you mean group_size?",),
        MATHEMATICS,
    ),
    "a renamed argument of a function": (
        TURN,
        {
            "cos: Tensor, sin: Tensor)": "cosine: Tensor, sin: Tensor)",
            "for table in (cos, sin)": "for table in (cosine, sin)",
        },
        4,
        ("unexpected keyword argument 'cos'. Your code has cosine: did you mean cos?",),
        ("a quarter turn make of (1, 0)",),
    ),
    "a misspelled method": (
        NORM,
        {"def forward(": "def foward("},
        1,
        ('missing the required "forward" function. Your code has foward: did you mean forward?',),
        MATHEMATICS,
    ),
    "a misspelled constructor": (
        NORM,
        {"def __init__(": "def __int__("},
        1,
        ("unexpected keyword argument 'hidden_size'. Your code has __int__: did you mean __init__?",),
        MATHEMATICS,
    ),
    "a method of another name": (
        NORM,
        {"def forward(": "def call("},
        1,
        ("The class has no method forward: is its def spelt and indented as in the stub?",),
        MATHEMATICS,
    ),
    "a parameter that is not kept": (
        VOCAB,
        {
            "self.table = nn.Parameter(": "self.table = (",
            "nn.init.normal_(self.table,": "nn.init.normal_(self.table.data,",
        },
        2,
        ("there is one parameter (float32-cpu-table)", "registered parameters: none; expected 1"),
        ("means its default",),
    ),
    "a truth value of many": (
        VOCAB,
        {"(rows < 0) | (rows >= self.shard.shape[0])": "rows < 0 or rows >= self.shard.shape[0]"},
        3,
        ("What should happen to each element?", "operands rows int64 [1, 4] from 0 to 3"),
        ("Is the line itself wrong",),
    ),
    "a name of Python's own": (
        VOCAB,
        {"embedding(input_ids,": "embedding(input,"},
        2,
        ("operands input = <built-in function input>, self.table float32 [16, 8]",),
        (),
    ),
    "ids in turn": (
        VOCAB,
        {
            "rows = input_ids - self.first_id": "rows = input_ids // 4",
            "foreign = (rows < 0) | (rows >= self.shard.shape[0])": "foreign = input_ids % 4 != self.first_id // 4",
        },
        3,
        (
            'gives exactly zero: failed in "an id of another rank gives zeros (cpu-rank-0)".',
            'rank-0)". Wrong for these ids: 4, 8, 12.',
        ),
        (),
    ),
    "one plus gamma": (
        NORM,
        {"* self.gamma.to(input.device)": "* (1 + self.gamma.to(input.device))"},
        1,
        ("off by the same factor, so the groups are right. What is the sum of squares divided by",),
        ("How many root mean squares",),
    ),
    "a part of the features": (
        NORM,
        {"normalised.flatten(-2) * self.gamma.to(input.device)": "(normalised.flatten(-2) * self.gamma)[..., :4]"},
        1,
        ("eps is added inside the square root: received shape [1, 2, 4], expected [1, 2, 16]",),
        (),
    ),
    "a missing return": (
        ROPE,
        {"        return apply_rotary": "        apply_rotary"},
        4,
        ("received None, expected one tensor: is a return missing?",),
        ("With k = 1 nothing is stretched",),
    ),
    "a shape that a test's own line cannot use": (
        TURN,
        {".to(input.dtype)": ".to(input.dtype).flatten(2)"},
        4,
        ("received shape [", "so no number has been compared yet"),
        ("IndexError", "With k = 1 nothing is stretched"),
    ),
    "an id that is no row": (
        VOCAB,
        {f"nn.functional.embedding({FOREIGN}, self.shard.to(input_ids.device))": "self.shard[rows]"},
        3,
        ("index 4 is out of bounds", "self.shard float32 [4, 8], rows int64 [1, 16] from 0 to 15"),
        (),
    ),
    "an in-place operation that torch refuses": (
        NORM,
        {"groups / torch.sqrt(mean_square + self.eps)": "groups.div_(torch.sqrt(mean_square + self.eps))"},
        1,
        ("Does it work in place",),
        ("Which of its values, shapes and dtypes",),
    ),
    "ids that are changed": (
        VOCAB,
        {
            "        return nn.functional.embedding(input_ids,": "        input_ids += 0 * input_ids + 1\n"
            "        return nn.functional.embedding(input_ids - 1,"
        },
        2,
        ("the call changed input_ids", "an operation in place"),
        ("out of bounds",),
    ),
    "the size of a parameter": (
        NORM,
        {"torch.empty(hidden_size,": "torch.empty(group_size,"},
        1,
        ("In gamma: received shape [4], expected [24]",),
        MATHEMATICS,
    ),
    "a row more than the rank owns": (
        VOCAB,
        {
            "torch.empty(rows, emb_size,": "torch.empty(rows + 1, emb_size,",
            "(rows >= self.shard.shape[0])": "(rows >= self.shard.shape[0] - 1)",
        },
        3,
        ("In the shard: received shape [5, 8], expected [4, 8]", "such as a row of zeros"),
        ("Print it after every step",),
    ),
    "a zero that autograd does not see": (
        VOCAB,
        {
            "        return embedded.masked_fill(foreign.unsqueeze(-1), 0)": "        embedded.data[foreign] = 0\n"
            "        return embedded"
        },
        3,
        ("All wrong values are too large", "Wrong for these ids: 0."),
        ("padding",),
    ),
    "a rotation without gradient": (
        ROPE,
        {"return apply_rotary_pos_emb(input, cos": "return apply_rotary_pos_emb(input.detach(), cos"},
        4,
        ("does not require grad", "Where is the gradient cut"),
        ("Which type and shape does it have",),
    ),
    "a package": (
        NORM,
        {"import torch\n": "import json, pytest\nimport torch\n"},
        1,
        ("src/modeling/norm.py imports pytest; only Python and torch are guaranteed during grading",),
        (),
    ),
    "another range": (
        NORM,
        {DRAW: "nn.init.uniform_(self.gamma, generator=generator)"},
        1,
        ("right random numbers, scaled or shifted", "Which range or spread is drawn"),
        ("between setting the seed and the draw",),
    ),
    "bounds the wrong way round": (
        NORM,
        {"*self.init_range": "*reversed(self.init_range)"},
        1,
        ("found from=1 > to=-1", "self.init_range = (-1.0, 1.0)"),
        (),
    ),
    "mean and standard deviation swapped": (
        VOCAB,
        {"(self.table, self.init_mean, self.init_std,": "(self.table, self.init_std, self.init_mean,"},
        2,
        ("Every value is the same", "are the arguments in the right order"),
        ("between setting the seed and the draw",),
    ),
    "a reset that nobody calls": (
        NORM,
        {"device=device))\n        self.reset_parameters()": "device=device))"},
        1,
        ("After a call of reset_parameters(), the values are correct.", "Who calls reset_parameters"),
        ("between setting the seed and the draw",),
    ),
    "a check the wrong way round": (
        NORM,
        {"hidden_size % group_size != 0": "group_size % hidden_size != 0"},
        1,
        (
            "Your own check rejects what the docstring allows",
            "norm.py:44 if group_size % hidden_size != 0: raise ValueError( operands group_size = 4, hidden_size = 24",
        ),
        ("shapes and dtypes",),
    ),
    "halves of another dimension": (
        TURN,
        {"input.chunk(2, dim=-1)": "input.chunk(2, dim=-2)", "(-second, first), dim=-1": "(-second, first), dim=-2"},
        4,
        ("not enough values to unpack", "operands input float32 [1, 1, 1, 8]"),
        (),
    ),
    "a seed that is set once": (
        NORM,
        {
            "        self.reset_parameters()\n": "        self.drawn = torch.Generator().manual_seed(init_seed)\n"
            "        self.reset_parameters()\n",
            "generator=generator)": "generator=self.drawn)",
        },
        1,
        ("called GroupRMSNorm(hidden_size=48, group_size=16, dtype=float32).reset_parameters()",),
        ("init_range=(8.0, 9.0)",),
    ),
    "a draw at the first call": (
        VOCAB,
        {
            "        return nn.functional.embedding(input_ids,": "        if not self.table.any():\n"
            "            self.reset_parameters()\n"
            "        return nn.functional.embedding(input_ids,",
            "torch.empty(vocab_size, emb_size, dtype=dtype, device=device))\n        self.reset_parameters()": (
                "torch.zeros(vocab_size, emb_size, dtype=dtype, device=device))"
            ),
        },
        2,
        ("init_std=1.0, init_seed=42, dtype=float32) result", "Who calls reset_parameters"),
        ("operation in place",),
    ),
    "a copy of a 16-bit gamma": (
        NORM,
        {
            "self.init_seed = init_seed": "self.init_seed, self.copy = init_seed, None",
            "        # Squares": "        self.copy = self.copy if self.copy is not None else self.gamma.float()\n"
            "        # Squares",
            "* self.gamma.to(input.device)": "* self.copy",
        },
        1,
        ("(cpu-gamma-bfloat16)", "differs from that of a new module", "a converted copy"),
        (),
    ),
    "the mask of an earlier call": (
        VOCAB,
        {
            "self.first_id = rank * rows": "self.first_id, self.foreign = rank * rows, None",
            "        foreign = (rows": "        foreign = self.foreign if self.foreign is not None else (rows",
            "        embedded = nn": "        self.foreign = foreign if rows.dim() == 2 and len(rows) == 2 else None\n"
            "        embedded = nn",
            FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)",
        },
        3,
        ("a mask, ids, a converted copy", "every value of these rows: [0, 0], [0, 2]"),
        ("shifts or masks the ids",),
    ),
    "growth beyond ms": (
        ROPE,
        {"if seq_len > cos.shape[0]:": "if seq_len > self.max_seq_len:"},
        4,
        ("each s up to es uses them, so all begin alike. Here ms = 4, k = 3.", "s = 5, ms = 4, k = 3"),
        (),
    ),
    "growth counted up from k": (
        ROPE,
        {
            "ratio = 2 * -(-seq_len // (2 * self.max_seq_len))": "ratio = self.cos.shape[0] // self.max_seq_len\n"
            "            while self.max_seq_len * ratio < seq_len:\n"
            "                ratio += 1 if ratio == 1 else 2"
        },
        4,
        ("by itself or through es",),
        (),
    ),
    "another default": (
        NORM,
        {"eps: float = 1e-5": "eps: float = 1e-6"},
        1,
        ("the stub's default, eps=1e-05", "Which default does your constructor give this argument"),
        ("What do parameters() and buffers() list",),
    ),
    "a pair returned": (
        TURN,
        {".to(input.dtype)": ".to(input.dtype), cos"},
        4,
        (
            "of type tuple (float32 [2, 3, 3, 8], float32 [3, 1, 8]), expected one tensor: what does your return ",
            "the same angles serve every batch row and head: the same error",
        ),
        (),
    ),
    "the last row never looked up": (
        VOCAB,
        {"embedding(input_ids,": "embedding(input_ids.clamp(max=len(self.table) - 2),"},
        2,
        ("received 14 14 14 14 14 14 Wrong only for id 15.",),
        ("factor", "everywhere"),
    ),
    "rows that foreign ids are clamped to": (
        VOCAB,
        {
            FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)",
            "embedded.masked_fill(foreign.unsqueeze(-1), 0)": "embedded",
        },
        3,
        ("Wrong for these ids: 4-15.",),
        ("everywhere",),
    ),
    "growth at equality": (
        ROPE,
        {"seq_len > cos.shape[0]": "seq_len >= cos.shape[0]"},
        4,
        ("In the cosines and sines for s = 12, ms = 4, k = 3:",),
        ("The right numbers are there",),
    ),
    "a variance": (
        NORM,
        {"groups.square().mean(dim=-1, keepdim=True)": "groups.var(dim=-1, keepdim=True, correction=0)"},
        1,
        ("Is a mean subtracted somewhere",),
        MATHEMATICS[:1],
    ),
    "a dropout": (
        NORM,
        {"groups / torch.sqrt": "nn.functional.dropout(groups, 0.5, self.training) / torch.sqrt"},
        1,
        ("What differs in training",),
        MATHEMATICS[:1],
    ),
    "the dtype of gamma": (
        NORM,
        {").to(input.dtype)  #": ").to(self.gamma.dtype)  #"},
        1,
        ("what decides its dtype there",),
        MATHEMATICS[:1],
    ),
    "a buffer's registration kept in its place": (
        ROPE,
        {'        self.register_buffer("cos"': '        self.cos = self.register_buffer("cos"'},
        4,
        (
            "the lowest is divided by k; defaults are the stub's tested",
            "operands cos = None",
            "Which line set it last, and what does the right-hand side of that line return?",
        ),
        ("✗ gradients flow back through the rotation tested",),
    ),
    "a mean after the root": (
        NORM,
        {
            "groups.square().mean(": "groups.square().sum(",
            "torch.sqrt(mean_square + self.eps)": "(torch.sqrt(mean_square + self.eps) / self.group_size)",
        },
        1,
        (
            "(var takes gz - 1), and is that before the root?",
            '✗ every feature is scaled by its own gamma: failed in "feature j is scaled by gamma j (float32-cpu)". All',
        ),
        ("divided by more than gz",),
    ),
    "eps as a floor": (
        NORM,
        {"torch.sqrt(mean_square + self.eps)": "torch.sqrt(mean_square.clamp_min(self.eps))"},
        1,
        (
            "where does eps enter, by which operation",
            "passes the same test with float32-cpu-zeros question",
        ),
        ("Try x = 0",),
    ),
    "rows that are scaled": (
        VOCAB,
        {"self.table.to(input_ids.device))": "self.table.to(input_ids.device)) * 8**0.5"},
        2,
        ("or the right row, changed on its way out?",),
        ("Which row does id 0 give",),
    ),
    "owners by the number of ranks": (
        VOCAB,
        {
            "self.first_id = rank * rows": "self.rank, self.world_size, self.first_id = rank, world_size, rank * rows",
            "foreign = (rows < 0) | (rows >= self.shard.shape[0])": (
                "foreign = input_ids // self.world_size != self.rank"
            ),
            FOREIGN: "rows.masked_fill(foreign, 0) % self.shard.shape[0]",
        },
        3,
        ("passes the same test with cpu-rank-0-of-4, cpu-rank-1-of-4, cpu-rank-2-of-4, cpu-rank-3-of-4",),
        (),
    ),
    "a shard seeded alike on every rank": (
        VOCAB,
        {"init_base_seed + rank": "init_base_seed"},
        3,
        ("passes the same test with float32-cpu-rank-0 question",),
        (),
    ),
    "a draw without the seed": (
        NORM,
        {DRAW: "nn.init.uniform_(self.gamma, *self.init_range)"},
        1,
        ("between setting the seed and the draw",),
        ("scaled or shifted", "After a call of reset_parameters, they"),
    ),
}


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What students get, without signatures."""
    return handed_out(tmp_path_factory.mktemp("handed"), ASSIGNMENT)


@pytest.fixture
def tell(handed: Path, tmp_path: Path, run: WarmPython) -> Tell:
    """``tell(edits, *command)``: what a command prints about the reference with edits; lines are joined."""
    folder = shutil.copytree(handed, tmp_path / "student")

    def told(edits: Iterable[tuple[str, str, str]], *command: str, second_device: bool = False) -> str:
        if second_device:
            shutil.copytree(REPOSITORY / SHARED / "second_device", folder / "tests/harness/shared/second_device")
        write_folder(folder, edited(*edits, of=ASSIGNMENT))
        return " ".join(run(folder, *command).stdout.split())

    return told


@pytest.mark.parametrize(("file", "edits", "task", "said", "unsaid"), some(CASES.values(), 2), ids=some(CASES, 2))
def test_what_is_said_leads_to_the_cause(
    tell: Tell,
    file: str,
    edits: dict[str, str],
    task: int,
    said: tuple[str, ...],
    unsaid: tuple[str, ...],
) -> None:
    told = tell([(file, *edit) for edit in edits.items()], "tests", "--task", str(task), "--hint", "2")
    assert [text for text in said if text not in told] == []
    assert [text for text in unsaid if text in told] == []


def test_a_file_of_two_tasks_that_cannot_be_parsed_names_both(tell: Tell) -> None:
    unclosed = [(VOCAB, "torch.empty(rows, emb_size", "(torch.empty(rows, emb_size")]
    said, chinese = (tell(unclosed, "tests", "--lang", language) for language in ("en", "zh"))
    assert "'(' was never closed: self.shard = nn.Parameter((torch.empty(rows," in said
    assert "(so tests of task 2 and task 3 could not run)" in said
    assert "（任务2、3中有测试因此无法运行）" in chinese.replace(" ", "")


def test_an_import_that_fails_here_and_in_the_grader_is_told_once(tell: Tell) -> None:
    told = tell([(ROPE, "from ..functional", "from functional")], "tests")
    assert told.count("from ..functional import …") == 1
    assert "Before you submit" not in told


def test_plain_pytest_shows_the_line_and_the_question_and_no_line_of_the_harness(tell: Tell) -> None:
    file, edits, *_ = CASES["a shape error"]
    edited = [(file, *edit) for edit in edits.items()]
    told = tell(edited, "pytest", "-q", "tests/test_pos_emb.py", "-k", "base-10000")
    assert "src/functional.py:30: RuntimeError" in told
    assert "tests/harness" not in told
    assert "Is the line itself wrong, or does an earlier one" in told
    assert "With k = 1 nothing is stretched" not in told


def test_a_table_that_stays_behind_is_asked_about_before_the_line_where_devices_meet(tell: Tell) -> None:
    plain = [
        (ROPE, f'self.register_buffer("{name}", {name}, persistent=False)', f"self.{name} = {name}")
        for name in ("cos", "sin")
    ]
    edits = [*plain, (TURN, "table.to(input.device)", "table")]
    told = tell(edits, "tests", "--task", "4", "--all", "--verbose", second_device=True)
    assert "does module.to(device) move?" in told
    assert "Move tensors with .to(input.device)" not in told


def test_zeros_of_a_shortcut_are_looked_at_on_a_second_device(tell: Tell) -> None:
    zeros = "torch.zeros(*input_ids.shape, self.shard.shape[1], dtype=self.shard.dtype)"
    shortcut = f"        if foreign.all():\n            return {zeros}\n        embedded = nn"
    told = tell([(VOCAB, "        embedded = nn", shortcut)], "tests", "--task", "3", second_device=True)
    assert "a moved module answers where it was moved to" in told
    assert "received a tensor on cpu, expected gpu" in told


def test_a_named_case_is_told_the_law_of_that_case(tell: Tell) -> None:
    eps = (NORM, "mean_square + self.eps", "mean_square + self.eps * (self.eps < 1)")
    assert "sqrt(1² + 15) = 4" in tell([eps], "tests", "--task", "1", "--lang", "zh")
