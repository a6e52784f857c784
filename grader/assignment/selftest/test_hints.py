"""Some twenty mistakes, each told in two steps: a question, then where to look and its name; neither misleads.

The mistakes are written here by hand, as edits of the reference; they are recognised by the signatures of the model of
mistakes, which writes them in other words: those of the same names and a sixteenth of the others, or all of them with
``GRADER_LONG=1``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import submission
from grader.lab.signatures.mistakes import Signatures, Trial, known, more_than_mistakes, written
from grader.lab.signatures.public_tests import PublicTests
from grader.selftest import LONG, some
from grader.selftest.submissions import edited, handed_out, write_folder
from grader.selftest.warm import WarmPython
from grader.specimens.variants import Variant

pytestmark = pytest.mark.slow

Tell = Callable[..., str]
NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
TURN, ROPE = "src/functional.py", "src/modeling/pos_emb.py"
CUT = "input.to(compute_dtype).unflatten(-1, (-1, self.group_size))"
MEAN = "groups.square().mean(dim=-1, keepdim=True)"
ROOT = "torch.sqrt(mean_square + self.eps)"
FOREIGN = "rows.masked_fill(foreign, 0)"
HALF = "torch.cat((-second, first), dim=-1)"
STRETCHED = "_ntk_base(self.base, self.dim, ratio)"
EVEN = "2 * -(-seq_len // (2 * self.max_seq_len))"


@dataclass(frozen=True)
class Mistake:
    """One mistake, and what is right to say about it.

    Attributes:
        file: Where it is made.
        edits: What stands in the reference, and what the student wrote.
        failed: The property that is explained.
        asked: What the question is about.
        where: What is said about the place; nothing if every value is wrong.
        name: What the mistake is called.
    """

    file: str
    edits: dict[str, str]
    failed: str
    asked: str
    where: str
    name: str

    @property
    def task(self) -> int:
        """The number of the task."""
        return 1 + ASSIGNMENT.rubric.tasks.index(ASSIGNMENT.rubric.task_of(self.failed))


MISTAKES = {
    "one root mean square for all of h": Mistake(
        NORM,
        {CUT: "input.to(compute_dtype).unsqueeze(-2)"},
        *("norm_groups", "How many root mean squares", "", "norm_over_whole_hidden"),
    ),
    "gz taken as the number of groups": Mistake(
        NORM,
        {CUT: "input.to(compute_dtype).unflatten(-1, (self.group_size, -1))"},
        *("norm_groups", "which features enter", "", "norm_group_size_as_count"),
    ),
    "a sum in place of the mean": Mistake(
        NORM,
        {MEAN: "groups.pow(2).sum(-1, keepdim=True)"},
        *("norm_groups", "divided by, if at all", "The factor is 0.5", "norm_sum_for_mean"),
    ),
    "x.var in place of the mean square": Mistake(
        NORM,
        {MEAN: "groups.var(dim=-1, keepdim=True)"},
        *("norm_groups", "var takes gz - 1", "The factor is 0.866", "norm_standard_deviation"),
    ),
    "the mean of absolute values": Mistake(
        NORM,
        {MEAN: "groups.abs().mean(dim=-1, keepdim=True).square()"},
        *("norm_float32_inside", "is the mean taken of the squares", "The factor is 1.8", "norm_mean_magnitude"),
    ),
    "eps outside the root": Mistake(
        NORM,
        {ROOT: "(torch.sqrt(mean_square) + self.eps)"},
        *("norm_eps_inside_sqrt", "where does eps enter", "The factor is 0.25", "norm_eps_outside"),
    ),
    "eps forgotten": Mistake(
        NORM,
        {ROOT: "torch.sqrt(mean_square)"},
        *("norm_eps_inside_sqrt", "where does eps enter", "The factor is 4", "norm_eps_absent"),
    ),
    "1 + gamma": Mistake(
        NORM,
        {"* self.gamma.to(input.device)": "* (1 + self.gamma.to(input.device))"},
        *("norm_groups", "Is something added to gamma", "The factor is 2", "norm_gamma_plus_one"),
    ),
    "gamma of one group shared by all": Mistake(
        NORM,
        {"* self.gamma.to": "* self.gamma[: self.group_size].repeat(len(self.gamma) // self.group_size).to"},
        *(
            "norm_gamma",
            "which element of gamma scales feature j",
            "dimension 2, of 12: only at 4-11",
            "norm_shared_gamma",
        ),
    ),
    "16 bits inside": Mistake(
        NORM,
        {CUT: "input.unflatten(-1, (-1, self.group_size))"},
        *("norm_float32_inside", "what is the square of 300", "", "norm_squares_before_upcast"),
    ),
    "squared before the upcast": Mistake(
        NORM,
        {CUT: "input.unflatten(-1, (-1, self.group_size))", MEAN: "groups.pow(2).float().mean(-1, keepdim=True)"},
        *("norm_float32_inside", "what is the square of 300", "", "norm_squares_before_upcast"),
    ),
    "an in-place division": Mistake(
        NORM,
        {f"groups / {ROOT}": f"groups.div_({ROOT})"},
        *("norm_purity", "Which line writes to it or to a view of it", "over the whole tensor", "input_changed"),
    ),
    "the root mean square detached": Mistake(
        NORM,
        {MEAN: f"{MEAN}.detach()"},
        *("norm_backward", "is one of them cut", "", "norm_detached_rms"),
    ),
    "seeded before another draw": Mistake(
        VOCAB,
        {
            "nn.init.normal_(self.table": "torch.empty_like(self.table).normal_(generator=generator)\n"
            "        nn.init.normal_(self.table"
        },
        *("vocab_init_and_reset", "between setting the seed and the draw", "", "init_after_extra_draw"),
    ),
    "padding_idx=0": Mistake(
        VOCAB,
        {"self.table.to(input_ids.device))": "self.table.to(input_ids.device), padding_idx=0)"},
        *(
            "vocab_backward",
            "Is this id treated as padding",
            "dimension 0, of 16: only at 0",
            "one_row_without_gradient",
        ),
    ),
    "<= at the shard's upper edge": Mistake(
        VOCAB,
        {"rows >= self.shard": "rows > self.shard", FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)"},
        *("shard_zeros_elsewhere", "Which comparison lets it in", "of 16: only at 4", "shard_neighbour_answered"),
    ),
    "foreign ids clamped and never set to zero": Mistake(
        VOCAB,
        {
            FOREIGN: "rows.clamp(0, self.shard.shape[0] - 1)",
            "embedded.masked_fill(foreign.unsqueeze(-1), 0)": "embedded",
        },
        *("shard_zeros_elsewhere", "where does that become zero", "of 16: only at 4-15", "shard_clamped_ids"),
    ),
    "the same seed on every rank": Mistake(
        VOCAB,
        {"init_base_seed + rank": "init_base_seed"},
        *("shard_seed", "Which seed does each rank draw with", "", "shard_seed_without_rank"),
    ),
    "neighbours as pairs": Mistake(
        TURN,
        {
            "input.chunk(2, dim=-1)": "(input[..., 0::2], input[..., 1::2])",
            HALF: "torch.stack((-second, first), dim=-1).flatten(-2)",
        },
        *(
            "rotary_pairing_and_sign",
            "which two features form a pair",
            "over the whole tensor",
            "rotary_adjacent_pairs",
        ),
    ),
    "the second half from the turned first": Mistake(
        TURN,
        {HALF: "torch.cat((-second, first * cos.chunk(2, -1)[0] - second * sin.chunk(2, -1)[0]), dim=-1)"},
        *("rotary_pairing_and_sign", "already, and with which sign", "only at 4-7", "rotary_other_turn"),
    ),
    "turned the other way": Mistake(
        TURN,
        {HALF: "torch.cat((second, -first), dim=-1)"},
        *("rotary_pairing_and_sign", "a quarter turn", "over the whole tensor", "rotary_opposite_angle"),
    ),
    "positions from one": Mistake(
        ROPE,
        {"torch.arange(self.max_seq_len * ratio,": "torch.arange(1, self.max_seq_len * ratio + 1,"},
        *("rope_base", "which position does that row have", "over the whole tensor", "rope_unscaled_angles"),
    ),
    "positions in 16 bits": Mistake(
        ROPE,
        {"angles = ": "positions = positions.to(dtype).float()\n        angles = "},
        *("rope_exact_angles", "From which position on are your angles wrong", "at 2049", "rope_far_positions"),
    ),
    "base * k": Mistake(
        ROPE,
        {STRETCHED: "self.base * ratio"},
        *("rope_base", "what are your thetas with k = 1 and with k = 2", "dimension", "rope_base_times_ratio"),
    ),
    "k' not rounded up to an even number": Mistake(
        ROPE,
        {EVEN: "-(-seq_len // self.max_seq_len)"},
        *("rope_smallest_even_ratio", "Which k' does your code pick", "dimension", "rope_odd_ratio"),
    ),
    "static modules keep what they have grown": Mistake(
        ROPE,
        {"if self.dynamic:": "if True:"},
        *("rope_static", "what is different in the module", "dimension", "rope_static_keeps_growth"),
    ),
}


def trying(_: str, trials: Sequence[Trial]) -> list[Mapping[str, Signatures]]:
    """What known mistakes are recognised by; nothing of those that are not in the sample."""
    asked = {mistake.name for mistake in some(MISTAKES.values(), 2)}
    public, found = PublicTests(), list[Mapping[str, Signatures]]()
    for number, (of, only) in enumerate(trials):
        variant = of if isinstance(of, Variant) else submission(of)
        chosen = LONG or number % 16 == 0 or (of is variant and asked & variant.hints)
        found.append(public.signatures(variant.files, only) if chosen else {})
    return found


@pytest.fixture(scope="module")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What known mistakes are recognised by, one alone at a time."""
    file = tmp_path_factory.mktemp("signatures") / "signatures.json"
    file.write_text(written(known(ASSIGNMENT, trying, pairs=False), ASSIGNMENT.rubric), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory, signatures: Path) -> Path:
    """What students get, with signatures."""
    folder = handed_out(tmp_path_factory.mktemp("handed"), ASSIGNMENT)
    shutil.copy(signatures, folder / "tests" / "harness")
    return folder


def parts_of(told: str, title: str) -> dict[str, str]:
    """What is told about one property, by its label; lines of a text are joined."""
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


@pytest.fixture
def tell(handed: Path, tmp_path: Path, run: WarmPython) -> Tell:
    """``tell(file, edits, *options)``: what the public tests print about the reference with edits in a file."""

    def told(file: str, edits: Mapping[str, str], *options: str) -> str:
        folder = shutil.copytree(handed, tmp_path / "student")
        write_folder(folder, edited(*((file, old, new) for old, new in edits.items()), of=ASSIGNMENT))
        return run(folder, "tests", *options).stdout

    return told


@pytest.mark.parametrize("mistake", some(MISTAKES.values(), 2), ids=some(MISTAKES, 2))
def test_question_place_and_name_are_right(mistake: Mistake, tell: Tell) -> None:
    title = ASSIGNMENT.rubric.properties[mistake.failed].title
    known = ASSIGNMENT.rubric.misconception(mistake.name)
    told = tell(mistake.file, mistake.edits, "--task", str(mistake.task), "--all", "--hint", "2")
    parts = parts_of(told, title["en"])
    assert mistake.asked in parts["question"]
    assert mistake.where in parts.get("where", "")
    assert ("where" in parts) == bool(mistake.where)  # nothing is said where every value is wrong
    assert parts["mistake"] == f"{known.hint['en']} [{mistake.name}]"
    named = set(re.findall(r"\[(\w+)\]$", told, re.MULTILINE)) & {own.id for own in ASSIGNMENT.rubric.misconceptions}
    assert named == {mistake.name}  # wherever else a mistake is named, it is this one


def test_the_name_is_told_in_chinese(tell: Tell) -> None:
    mistake = MISTAKES["gamma of one group shared by all"]
    told = tell(mistake.file, mistake.edits, "--task", "1", "--all", "--hint", "2", "--lang", "zh")
    assert squeezed(ASSIGNMENT.rubric.misconception(mistake.name).hint["zh"]) in squeezed(told)


def test_the_first_step_is_a_question_alone(tell: Tell) -> None:
    mistake = MISTAKES["eps forgotten"]
    told = tell(mistake.file, mistake.edits, "--task", "1")
    parts = parts_of(told, ASSIGNMENT.rubric.properties[mistake.failed].title["en"])
    assert parts["question"].endswith("?")
    assert not {"where", "mistake"} & parts.keys()
    assert "GroupRMSNorm(hidden_size=16, group_size=4, eps=15.0" in parts["called"]
    assert "(which values are wrong, and which known mistake looks like this): python -m tests --hint 2\n" in told


def test_a_line_that_fails_is_not_named_as_a_wrong_result(tell: Tell) -> None:
    """With the number of heads as the length, some cases fail in a line and others give wrong angles."""
    told = tell(ROPE, {"seq_len = input.shape[1]": "seq_len = input.shape[2]"}, "--task", "4", "--hint", "2")
    assert "must match the size of tensor b" in told
    assert "rope_unscaled_angles" not in told


def test_every_question_asks() -> None:
    for prop in ASSIGNMENT.rubric.properties.values():
        assert "?" in prop.question.en, prop.id
        assert "？" in prop.question.zh, prop.id


def test_the_signatures_pass_the_search_for_leaks(signatures: Path) -> None:
    assert [*more_than_mistakes(signatures.read_bytes(), ASSIGNMENT.rubric)] == []
