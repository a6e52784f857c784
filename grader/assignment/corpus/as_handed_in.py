"""A class as it is handed in, combined from the rest of the corpus by a fixed seed, for ``make bench`` to grade.

``MIX`` says how many of each kind there are, and stays as it is. Variants and slips are drawn by name: a new one
takes the place of few members, so figures of two versions compare.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

from grader.assignment import ASSIGNMENT
from grader.specimens.variants import variants_of

SIZE, SEED = 400, 36
# Shares of the right submissions in unlike styles; the rest have one of the corpus's styles in all files.
HABITS, VARIANTS = 0.12, 0.4
NORM, ROWS = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
ROPE, ROTATION = "src/modeling/pos_emb.py", "src/functional.py"

Files = Mapping[str, str]
T = TypeVar("T")


class Member(NamedTuple):
    """A submission of the class, and which kind it is one of."""

    kind: str
    files: Files


def a_class(size: int = SIZE, seed: int = SEED) -> list[Member]:
    """A class in the order in which it is handed in; a small one has the same mix as a large one."""
    draw = random.Random(seed)
    ends = [round(percent * size / 100) for percent in accumulate(MIX.values(), initial=0)]
    kinds = [kind for kind, (begin, end) in zip(MIX, pairwise(ends), strict=True) for _ in range(end - begin)]
    members = [Member(kind, MAKE[kind](draw)) for kind in kinds]
    draw.shuffle(members)
    return [
        Member(kind, {path: f"{text}\n# {number}\n" for path, text in files.items()})  # no two are the same text
        for number, (kind, files) in enumerate(members)
    ]


def _unfinished(draw: random.Random) -> Files:
    """The stubs, or a solution of which some files are still stubs."""
    stubs, files = ASSIGNMENT.stubs(), ASSIGNMENT.solution()
    homes = [NORM, ROWS, ROPE, ROTATION]
    left = draw.sample(homes, draw.choice((4, 4, 3, 2, 1)))
    return {**files, **{path: stubs[path] for path in left}}


def _alike(draw: random.Random) -> Files:
    """The reference."""
    del draw  # texts differ by their comments alone
    return ASSIGNMENT.solution()


def _in_a_style(draw: random.Random) -> Files:
    """A rare habit over the reference, a valid variant of a piece, or a style in all files."""
    chosen = draw.random()
    if chosen < HABITS:
        path, change = draw.choice(RARE)
        files = ASSIGNMENT.solution()
        return {**files, path: change(files[path])}
    if chosen < HABITS + VARIANTS:
        return _drawn(draw, _variants(valid=True))
    styles = ASSIGNMENT.part("corpus.styles")
    return dict(styles.style(int(draw.random() * styles.COMBINATIONS)).submission(ASSIGNMENT).files)


def _mistaken(draw: random.Random) -> Files:
    """One to three files with a mistake each: a wrong variant of a piece, or a slip."""
    pool = _mistakes()
    homes = draw.sample(sorted(pool), draw.choice((1, 1, 2, 3)))
    return {**ASSIGNMENT.solution(), **{path: _drawn(draw, pool[path]) for path in homes}}


def _crashing(draw: random.Random) -> Files:
    """A file, or each, that cannot be imported."""
    line = draw.choice(("import torchtext_of_my_own", "from .utils import helper", "def unfinished(:", "print(x[0])"))
    files = ASSIGNMENT.solution()
    crashing = draw.choice(([*files], [NORM], [ROWS], [ROPE], [ROTATION]))
    return {path: f"{line}\n{text}" if path in crashing else text for path, text in files.items()}


def _slow(draw: random.Random) -> Files:
    """A piece that counts to a million before each call."""
    return _before_each_call(draw, f"for _ in range({draw.choice((200_000, 500_000, 1_000_000))}): pass")


def _endless(draw: random.Random) -> Files:
    """A piece that never returns."""
    return _before_each_call(draw, "while True: pass")


def _before_each_call(draw: random.Random, statement: str) -> Files:
    path, owner, name = draw.choice(
        (
            (NORM, "GroupRMSNorm", "forward"),
            (ROWS, "VocabEmbedding", "forward"),
            (ROWS, "ParallelVocabEmbedding", "forward"),
            (ROPE, "NTKAwareRoPE", "forward"),
            (ROTATION, "", "apply_rotary_pos_emb"),
        )
    )
    place = f"{owner}.{name}" if owner else name
    files = ASSIGNMENT.solution()
    again = f"\n_called = {place}\n\ndef _again(*arguments):\n    {statement}\n    return _called(*arguments)\n"
    return {**files, path: f"{files[path]}{again}\n{place} = _again\n"}


def _drawn(draw: random.Random, pool: Mapping[str, T]) -> T:
    """One of a pool: the name with the smallest digest, so that a new name changes only the draws that it wins."""
    lot = draw.random()
    return pool[min(pool, key=lambda name: hashlib.sha256(f"{lot} {name}".encode()).digest())]


@cache
def _variants(*, valid: bool) -> Mapping[str, Files]:
    """By name, the variants that differ on the CPU."""
    fitting = (one for one in variants_of(ASSIGNMENT) if one.valid is valid and ".devices" not in one.name)
    return {variant.name: variant.files for variant in fitting}


@cache
def _mistakes() -> Mapping[str, Mapping[str, str]]:
    """By file and name, its texts with one mistake."""
    slips, found = ASSIGNMENT.part("corpus.variants"), defaultdict[str, dict[str, str]](dict)
    alone = {slip.name: slips.submission([slip]).files for family in slips.slip_families() for slip in family}
    for right, pool in ((ASSIGNMENT.solution(), _variants(valid=False)), (slips.submission([]).files, alone)):
        for name, files in pool.items():
            for path in (path for path in files if files[path] != right.get(path)):
                found[path][name] = files[path]
    return found


def _with_complex_table(text: str) -> str:
    """The tables are one buffer of complex numbers, and the module turns pairs by itself."""
    return text + (
        "\n\nclass NTKAwareRoPE(NTKAwareRoPE):\n    def __init__(self, *arguments, **named):\n"
        "        super().__init__(*arguments, **named)\n"
        "        turns = torch.complex(self.cos.float(), self.sin.float())\n"
        "        del self.cos, self.sin\n        self.register_buffer('turns', turns, persistent=False)\n"
        "        self.kept = named.get('dtype', torch.float32)\n\n"
        "    def forward(self, input):\n        turns, half = self.turns, self.dim // 2\n"
        "        if input.shape[1] > len(turns):\n"
        "            ratio = 2 * -(-input.shape[1] // (2 * self.max_seq_len))\n"
        "            turns = torch.complex(*(t.float() for t in self._tables(ratio, self.kept, turns.device)))\n"
        "            if self.dynamic:\n                self.turns = turns\n"
        "        x = torch.complex(input[..., :half].float(), input[..., half:].float())\n"
        "        y = x * turns[: input.shape[1], None, :half]\n"
        "        return torch.cat((y.real, y.imag), -1).to(input.dtype)\n"
    )


def _with_half_a_table(text: str) -> str:
    """The tables hold each angle once; both halves get the same rows when the module is called."""
    for old, new in (
        ("angles = torch.cat((angles, angles), dim=-1)", "# once each"),
        ("input, cos[:seq_len], sin[:seq_len]", "input, cos[:seq_len].repeat(1, 2), sin[:seq_len].repeat(1, 2)"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


DOUBLE = "import torch\ntorch.set_default_dtype(torch.float64)\n"
SINGLE = "\ntorch.set_default_dtype(torch.float32)\n"
MAIN = "\nif __name__ == '__main__':\n    print(NTKAwareRoPE(8, 16)(torch.ones(1, 4, 1, 8)))\n"
RARE: tuple[tuple[str, Callable[[str], str]], ...] = (
    (NORM, lambda text: f"import logging\nlogging.basicConfig(level=logging.INFO)\nlogging.info('loaded')\n{text}"),
    (ROWS, lambda text: f"import logging\nlog = logging.getLogger(__name__)\n{text}\nlog.warning('%s', __name__)\n"),
    (NORM, lambda text: DOUBLE + text + SINGLE),
    (ROPE, lambda text: text + MAIN),
    (ROTATION, lambda text: f"{text}\napply_rotary_pos_emb = torch.jit.script(apply_rotary_pos_emb)\n"),
    (ROPE, _with_complex_table),
    (ROPE, _with_half_a_table),
)

MIX = {  # percent of each kind
    "stubs and half-done": 10,
    "right and alike": 15,
    "right in unlike styles": 25,
    "one to three mistakes": 40,
    "crash at import": 5,
    "slow": 3,
    "endless": 2,
}
MAKE: dict[str, Callable[[random.Random], Files]] = dict(
    zip(MIX, (_unfinished, _alike, _in_a_style, _mistaken, _crashing, _slow, _endless), strict=True)
)
