"""Submissions from earlier courses are charged as a lecturer would: for what they do, and once for their layout.

What differs in one piece alone (``group_size=None``, an offset, persistent tables) is among the variants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.results.outcome import CaseResult, Outcome
from grader.lab.charges import lost

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

NORM = """
class GroupRMSNorm(nn.Module):
    def __init__(self, hidden_size, group_size=None, eps=1e-5, init_range=(-1.0, 1.0), init_seed=42,
                 dtype=torch.float32, device="cpu", process_group=None):
        super().__init__()
        self.group_size = group_size if group_size is not None else hidden_size
        assert hidden_size % self.group_size == 0, f"{hidden_size} must be divisible by {self.group_size}"
        self.eps, self.init_range, self.init_seed = eps, init_range, init_seed
        self.weight = nn.Parameter(torch.empty(hidden_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self):
        torch.manual_seed(self.init_seed)
        self.weight.data.uniform_(*self.init_range)

    def forward(self, input):
        b, s, h = input.shape
        x = input.float().reshape(b, s, h // self.group_size, self.group_size)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.reshape(b, s, h) * self.weight).to(input.dtype)
"""

SHARD = """
class ParallelVocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, rank=0, world_size=1{group}, init_mean=0.0, init_std=1.0,
                 init_base_seed=42, dtype=torch.float32, device="cpu"):
        super().__init__()
        assert vocab_size % world_size == 0, f"{{vocab_size}} % {{world_size}} != 0"
        self.n, self.rank = vocab_size // world_size, rank
        self.start, self.end = rank * self.n, (rank + 1) * self.n
        self.mean, self.std, self.seed = init_mean, init_std, init_base_seed + rank
        self.weight = nn.Parameter(torch.empty({rows}, emb_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self):
        torch.manual_seed(self.seed)
        nn.init.normal_(self.weight, self.mean, self.std)

    def forward(self, input_ids):
        mask = (input_ids >= self.start) & (input_ids < self.end)
        ids = {ids}
        return F.embedding(ids, self.weight) * mask.unsqueeze(-1).to(self.weight.dtype)
"""
VOCAB = """
class VocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, init_mean=0.0, init_std=1.0, init_seed=42, dtype=torch.float32,
                 device="cpu"):
        super().__init__()
        self.shard = ParallelVocabEmbedding(vocab_size, emb_size, 0, 1, None, init_mean, init_std, init_seed, dtype,
                                            device)

    def reset_parameters(self):
        self.shard.reset_parameters()

    def forward(self, input_ids):
        return self.shard(input_ids)
"""

ROPE = """
from ..functional import apply_rotary_pos_emb

class NTKAwareRoPE(nn.Module):
    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, dtype=torch.float32, device="cpu"):
        super().__init__()
        self.dim, self.max_seq_len, self.base, self.ratio, self.dynamic = dim, max_seq_len, base, ratio, dynamic
        self.dtype = dtype
        cos, sin = self._compute(ratio, device)
        [self.register_buffer(n, t, persistent=False) for n, t in (('cos', cos), ('sin', sin))]

    def _compute(self, ratio, device):
        base = self.base * ratio ** (self.dim / (self.dim - 2))
        inv_freq = 1.0 / (base ** (torch.arange(0, self.dim, 2, device=device).float() / self.dim))
        t = torch.arange(self.max_seq_len * ratio, device=device).float()
        emb = torch.outer(t, inv_freq).repeat(1, 2)
        return emb.cos().to(self.dtype), emb.sin().to(self.dtype)

    def forward(self, input):
        end = input.shape[1]
        cos, sin = self.cos, self.sin
        if end > cos.shape[0]:
            ratio = 2
            while self.max_seq_len * ratio < end:
                ratio += 2
            cos, sin = self._compute(ratio, cos.device)
            if self.dynamic:
                self.ratio, self.cos, self.sin = ratio, cos, sin
        return apply_rotary_pos_emb(input, cos[:end], sin[:end])
"""
RIGHT_SHARD = {"group": "", "rows": "self.n", "ids": "(input_ids - self.start) * mask"}


def shard(**changes: str) -> str:
    """``ParallelVocabEmbedding`` in that layout."""
    return SHARD.format(**{**RIGHT_SHARD, **changes})


@dataclass(frozen=True)
class Older:
    """A submission in an older layout.

    Attributes:
        name: What it is called.
        told: How its owner's course would describe it.
        files: What differs from the reference; None where a file is not there.
        loses: The properties that a lecturer would charge.
    """

    name: str
    told: str
    files: Mapping[str, str | None] = field(repr=False)
    loses: frozenset[str] = frozenset()


NORM_FILE, VOCAB_FILE, ROPE_FILE = "src/modeling/norm.py", "src/modeling/vocab_emb.py", "src/modeling/pos_emb.py"
FUNCTIONAL_FILE = "src/functional.py"
REGISTRATION = frozenset({"shard_registration_and_arguments"})

OLDER = (
    Older(
        "whole_table_in_every_rank",
        "every rank holds [v, e], drawn with its own seed, and looks the ids up as they are",
        {VOCAB_FILE: HEAD + shard(rows="vocab_size", ids="input_ids") + VOCAB.replace(" 0, 1, None,", " 0, 1,")},
        REGISTRATION,
    ),
    Older(
        "no_vocab_embedding",
        "the exercise had no VocabEmbedding yet",
        {VOCAB_FILE: HEAD + shard()},
        frozenset(ASSIGNMENT.rubric.only("task2").properties),
    ),
    Older(
        "no_functional_file",
        "the rotation stands in pos_emb.py, and there is no functional.py",
        {
            ROPE_FILE: (HEAD + ROPE).replace(
                "from ..functional import apply_rotary_pos_emb",
                "def apply_rotary_pos_emb(input, cos, sin):\n"
                "    first, second = input.chunk(2, -1)\n"
                "    turned = torch.cat((-second, first), -1)\n"
                "    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)\n",
            ),
            FUNCTIONAL_FILE: None,
        },
        frozenset({"rotary_pairing_and_sign", "rotary_broadcast", "rotary_dtype", "rotary_backward", "rotary_purity"}),
    ),
    Older(
        "without_a_bonus",
        "tasks 1 to 3 in one older style; task 4 was another course's",
        {
            NORM_FILE: HEAD + NORM,
            VOCAB_FILE: HEAD + shard(group=", process_group=None") + VOCAB,
            ROPE_FILE: None,
            FUNCTIONAL_FILE: None,
        },
        frozenset(ASSIGNMENT.rubric.only("task4").properties),
    ),
)


Judge = Callable[..., list[CaseResult]]


def files_of(older: Older) -> dict[str, str]:
    """The whole submission."""
    files = {**ASSIGNMENT.solution(), **older.files}
    return {path: text for path, text in files.items() if text is not None}


@pytest.mark.slow
@pytest.mark.parametrize("older", OLDER, ids=lambda older: older.name)
def test_an_older_layout_is_charged_as_a_lecturer_would(judge: Judge, older: Older) -> None:
    assert lost(judge(files_of(older))) == older.loses, older.told


def test_a_file_that_is_not_there_is_told_as_missing_wherever_it_is_met(judge: Judge) -> None:
    """Not as a rotation that does not turn."""
    older = next(one for one in OLDER if one.name == "no_functional_file")
    results = [result for result in judge(files_of(older)) if result.property_id in older.loses]
    asked = [result for result in results if result.outcome is not Outcome.NOT_ASSESSED]
    told = [result for result in asked if result.outcome is not Outcome.PASSED]
    assert {result.outcome for result in told} == {Outcome.MISSING}
    assert all(FUNCTIONAL_FILE in result.message for result in told)
