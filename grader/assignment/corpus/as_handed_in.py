"""A class as it is handed in, combined from the rest of the corpus by a fixed seed, for ``make bench`` to grade.

``as_handed_in.toml`` says how many of each kind there are. Variants and slips are drawn by name: a new one
takes the place of few members, so figures of two versions compare.
"""

from __future__ import annotations

import hashlib
import random
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from grader.assignment import ASSIGNMENT
from grader.specimens.variants import variants_of

SIZE, SEED = 400, 36
# Shares of the right submissions in unlike styles; the rest have one of the corpus's styles in all files.
HABITS, VARIANTS = 0.12, 0.4
NORM, ROWS = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
ROPE, ROTATION = "src/modeling/pos_emb.py", "src/functional.py"

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MIX: dict[str, int] = TEXTS["mix"]  # percent of each kind

Files = Mapping[str, str]
T = TypeVar("T")


class Member(NamedTuple):
    """A submission of the class, and its kind."""

    kind: str
    files: Files


def a_class(size: int = SIZE) -> list[Member]:
    """A class in the order in which it is handed in; a small one has the same mix as a large one."""
    draw = random.Random(SEED)
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


def _in_a_style(draw: random.Random) -> Files:
    """A rare habit over the reference, a valid variant of a piece, or a style in all files."""
    chosen = draw.random()
    if chosen < HABITS:
        files, habit = ASSIGNMENT.solution(), draw.choice(TEXTS["rare"])
        return {**files, habit["path"]: _changed(files[habit["path"]], habit)}
    if chosen < HABITS + VARIANTS:
        return _drawn(draw, _variants(valid=True))
    styles = ASSIGNMENT.part("corpus.styles")
    return dict(styles.style(int(draw.random() * styles.COMBINATIONS)).submission(ASSIGNMENT).files)


def _changed(text: str, habit: Mapping[str, Any]) -> str:
    for edit in habit.get("edits", ()):
        assert text.count(edit["old"]) == 1
        text = text.replace(edit["old"], edit["new"])
    return f"{habit.get('before', '')}{text}{habit.get('after', '')}"


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
    return _before_each_call(f"for _ in range({draw.choice((200_000, 500_000, 1_000_000))}): pass", draw)


def _before_each_call(statement: str, draw: random.Random) -> Files:
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


MAKE: dict[str, Callable[[random.Random], Files]] = {
    "stubs and half-done": _unfinished,
    "right and alike": lambda _: ASSIGNMENT.solution(),
    "right in unlike styles": _in_a_style,
    "one to three mistakes": _mistaken,
    "crash at import": _crashing,
    "slow": _slow,
    "endless": partial(_before_each_call, "while True: pass"),
}
