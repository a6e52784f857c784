"""No submission earns more by lying than its honest twin; ``GRADER_LONG=1`` tries all of them (half an hour).

A liar knows every request that only a second look at a wrong submission makes (readings, probes, modules to compare
with), and answers these as another submission would. It may not earn more than its honest twin, which is always wrong.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.sandbox.handle import InProcessWorker, Operation
from grader.core.sandbox.limits import Limits
from grader.lab import charges
from grader.selftest import LONG
from grader.specimens.variants import Variant

WRONG = [variant for variant in all_variants() if not variant.valid and ".devices" not in variant.name]
GAINED_ONCE = ("wrong.rotary.rotates_the_other_way", "wrong.rotary.pairs_from_both_ends")  # a point, by a new excuse
ALL = [(variant, seed, answers) for answers in ("right", "another_mistake") for seed in (0, 1) for variant in WRONG]
GAINED = [case for case in ALL if case[0].name in GAINED_ONCE and case[1:] == (0, "right")]
CASES = ALL if LONG else [*ALL[::999], *GAINED]


def another(variant: Variant, seed: int) -> Variant:
    others = [other for other in WRONG if other.piece == variant.piece and other is not variant]
    return random.Random(f"{variant.name} {seed}").choice(others)


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "seed", "answers"), CASES, ids=lambda value: getattr(value, "name", value))
def test_who_answers_every_second_look_in_another_way_gains_nothing(variant: Variant, seed: int, answers: str) -> None:
    task = task_of(variant.piece)
    other = ASSIGNMENT.solution() if answers == "right" else another(variant, seed).files
    honest = judged(variant.files, task, seed)
    lying = judged(liar(variant.files, variant.piece, other, seed), task, seed)
    assert lying.points <= honest.points, f"{sorted(honest.lost)} became {sorted(lying.lost)}"


OTHER = "other"  # the package below src/ that holds what a liar answers with
CALLS = ("call", "observe", "backward")

# What a liar appends to the file of its piece: a class, or a function.
CLASS = """

_Honest = {name}


class {name}(_Honest):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        try:
            object.__setattr__(self, "_other", _Other(*arguments, **named))
        except Exception:
            object.__setattr__(self, "_other", None)

    def forward(self, *arguments):
        if self._other is None or _digest(arguments) not in _KNOWN:
            return super().forward(*arguments)
        for theirs, ours in zip(self._other.parameters(), self.parameters()):
            theirs.data = ours.data.reshape(theirs.shape) if ours.numel() == theirs.numel() else theirs.data
        return self._other.train(self.training)(*arguments)
"""
FUNCTION = """

_honest = {name}


def {name}(*arguments):
    return _Other(*arguments) if _digest(arguments) in _KNOWN else _honest(*arguments)
"""
KNOWN = """

import hashlib as _hashlib

_KNOWN = {known}


def _digest(arguments):
    shown = [(str(a.dtype), list(a.shape), a.flatten().tolist()) for a in arguments if hasattr(a, "dtype")]
    return _hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
"""


def digest(arguments: Sequence[Any]) -> str:
    """Of the tensors of a call, as a liar computes it."""
    shown = [(str(a.dtype), list(a.shape), a.flatten().tolist()) for a in arguments if isinstance(a, Tensor)]
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


class Judged(NamedTuple):
    """What a submission earns of its task, the properties that it loses, and digests of the arguments of every call."""

    points: float
    lost: frozenset[str]
    asked: frozenset[str]


@cache
def _tests(task: str, seed: int) -> HiddenTests:
    return HiddenTests(ASSIGNMENT, ("cpu",), seed, ASSIGNMENT.rubric.only(task).properties)


def judged(files: Mapping[str, str], task: str, seed: int) -> Judged:
    """Judge one task of a submission in this process, once, and note what it is asked for."""
    return _judged(tuple(files.items()), task, seed)


@cache
def _judged(files: tuple[tuple[str, str], ...], task: str, seed: int) -> Judged:
    asked: set[str] = set()

    class Noting(InProcessWorker):
        def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
            asked.update(digest(given["arguments"]) for kind, given in operations if kind in CALLS)
            return super().request(operations, timeout_s)

    with warnings.catch_warnings(action="ignore"):
        student = Student(dict(files), Noting, ASSIGNMENT.rubric, Limits(submission_s=1e6))
        gone = charges.lost(run_tests(_tests(task, seed), student))
    return Judged(charges.points(ASSIGNMENT.rubric.only(task).properties.keys() - gone), gone, frozenset(asked))


def task_of(piece: str) -> str:
    return next(task.id for task in ASSIGNMENT.rubric.tasks if piece in task.names)


def liar(files: Mapping[str, str], piece: str, other: Mapping[str, str], seed: int) -> dict[str, str]:
    """A submission that answers every request beyond the contract's own as another submission.

    What it is asked for depends on what it answers, so it learns that in two rounds. What right work is asked, too, is
    the contract's: nobody can tell these calls from what is judged, since they are.
    """
    task, path = task_of(piece), ASSIGNMENT.rubric.file_of(piece)
    contract = judged(ASSIGNMENT.solution(), task, seed).asked
    inside = {f"src/{OTHER}/{name.removeprefix('src/')}": text for name, text in other.items()}
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    place = f"\n\nfrom {'.' * path.count('/')}{OTHER}.{module} import {piece} as _Other\n"
    known: set[str] = set()
    made = dict(files)
    for _ in range(2):
        known |= judged(made, task, seed).asked - contract
        lies = (CLASS if piece[0].isupper() else FUNCTION).format(name=piece)
        text = files[path] + place + KNOWN.format(known=known or "set()") + lies
        made = {**inside, **files, path: text}
    return made
