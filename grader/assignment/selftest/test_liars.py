"""No submission earns more by lying than its honest twin; ``GRADER_LONG=1`` tries all of them (half an hour).

A *liar* knows every request that only a second look at a wrong submission makes (readings, probes, modules to compare
with), and answers these as another submission would. A *reader of signals* is right or wrong by what it sees of its
process. Neither may earn more than its honest twin, which is always wrong.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.student import Student
from grader.core.results.report import Report
from grader.core.sandbox.handle import InProcessWorker, Operation
from grader.core.sandbox.limits import Limits
from grader.core.settings import Settings
from grader.lab import charges
from grader.selftest import LONG
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import submission
from grader.specimens.variants import Variant

WRONG = [variant for variant in all_variants() if not variant.valid and ".devices" not in variant.name]
GAINED_ONCE = ("wrong.rotary.rotates_the_other_way", "wrong.rotary.pairs_from_both_ends")  # a point, by a new excuse
ALL = [(variant, seed) for seed in (0, 1) for variant in WRONG]
CASES = ALL if LONG else [*ALL[::312], *(case for case in ALL if case[0].name in GAINED_ONCE and not case[1])]
PAIRS = 320 if LONG else 1  # of a mistake, another one and a signal
MADE = ("init", "seed", "registration", "buffers")  # parts of the ids of properties about what is constructed
GUESSES = [variant for variant in WRONG if not any(part in prop for prop in variant.breaks for part in MADE)]


def another(variant: Variant, among: Sequence[Variant], key: object) -> Variant:
    others = [other for other in among if other.piece == variant.piece and other is not variant]
    return random.Random(f"{variant.name} {key}").choice(others)


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["right", "another_mistake"])
@pytest.mark.parametrize(("variant", "seed"), CASES, ids=lambda value: getattr(value, "name", value))
def test_who_answers_every_second_look_in_another_way_gains_nothing(variant: Variant, seed: int, answers: str) -> None:
    task = task_of(variant.piece)
    other = ASSIGNMENT.solution() if answers == "right" else another(variant, WRONG, seed).files
    honest = judged(variant.files, task, seed)
    lying = judged(liar(variant.files, variant.piece, other, seed), task, seed)
    assert lying.points <= honest.points, f"{sorted(honest.lost)} became {sorted(lying.lost)}"


def points(report: Report) -> float:
    return sum(task.score for task in report.tasks)


@pytest.mark.process
@pytest.mark.parametrize("number", range(PAIRS))
def test_who_guesses_twice_earns_no_more_than_the_better_guess(judges: Judges, number: int) -> None:
    """Both guesses are about what calls give; construction is the first one's."""
    choice = random.Random(f"pair {number}")
    first = choice.choice(GUESSES)
    second, signal = another(first, GUESSES, number), choice.choice(list(SIGNALS))
    task = task_of(first.piece)
    judge, plainly = (judges(Settings(ASSIGNMENT, device="cpu", only=task, plain=plain)) for plain in (False, True))
    honest = max(points(judge.grade(submission(dict(each.files)))) for each in (first, second))
    both = submission(guessing_twice(first.files, first.piece, second.files, signal))
    for each in (judge, plainly):
        assert points(each.grade(both)) <= honest, f"{first.name}, {second.name}, {signal}"


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
        object.__setattr__(self, "_built", repr(sorted(map(str, named.items()))))

    def forward(self, *arguments):
        if self._other is None or not {lies}:
            return super().forward(*arguments)
        for theirs, ours in zip(self._other.parameters(), self.parameters()):
            theirs.data = ours.data.reshape(theirs.shape) if ours.numel() == theirs.numel() else theirs.data
        return self._other.train(self.training)(*arguments)
"""
FUNCTION = """

_honest = {name}


def {name}(*arguments):
    self = None
    return _Other(*arguments) if {lies} else _honest(*arguments)
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
        gone = charges.lost(_tests(task, seed).run(student))
    return Judged(charges.points(ASSIGNMENT.rubric.only(task).properties.keys() - gone), gone, frozenset(asked))


def task_of(piece: str) -> str:
    return next(task.id for task in ASSIGNMENT.rubric.tasks if piece in task.names)


def answering_otherwise(
    files: Mapping[str, str], piece: str, other: Mapping[str, str], lies: str, known: Collection[str] = ()
) -> dict[str, str]:
    """A submission that answers as another one where ``lies``, which may use ``arguments`` and ``_KNOWN``, is true."""
    path = ASSIGNMENT.rubric.file_of(piece)
    inside = {f"src/{OTHER}/{name.removeprefix('src/')}": text for name, text in other.items()}
    up = "." * path.count("/")
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    text = (
        files[path]
        + f"\n\nfrom {up}{OTHER}.{module} import {piece} as _Other\n"
        + KNOWN.format(known=set(known) or "set()")
    )
    text += (CLASS if piece[0].isupper() else FUNCTION).format(name=piece, lies=lies)
    return {**inside, **files, path: text}


def liar(files: Mapping[str, str], piece: str, other: Mapping[str, str], seed: int) -> dict[str, str]:
    """A submission that answers every request beyond the contract's own as another submission.

    What it is asked for depends on what it answers, so it learns that in two rounds. What right work is asked, too, is
    the contract's: nobody can tell these calls from what is judged, since they are.
    """
    task = task_of(piece)
    contract = judged(ASSIGNMENT.solution(), task, seed).asked
    known: set[str] = set()
    made = dict(files)
    for _ in range(2):
        known |= judged(made, task, seed).asked - contract
        made = answering_otherwise(files, piece, other, "_digest(arguments) in _KNOWN", known)
    return made


# What code can see of its process, as an expression; counters live where a new import does not reach them.
COUNTERS = """

import sys as _sys
import time as _time

torch.__dict__["imports_seen"] = torch.__dict__.get("imports_seen", 0) + 1
_calls = [0]


def _counted():
    _calls[0] += 1
    torch.__dict__["calls_seen"] = torch.__dict__.get("calls_seen", 0) + 1
    return torch.__dict__["calls_seen"]


def _frame(name):
    frame = _sys._getframe(1)
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
    return None
"""
SIGNALS: Mapping[str, str] = {
    "imports_of_the_process": "torch.__dict__['imports_seen'] > 1",
    "every_second_import": "torch.__dict__['imports_seen'] % 2 == 0",
    "calls_of_the_process": "_counted() > 3",
    "many_calls_of_the_process": "_counted() > 40",
    "calls_of_the_module": "(_counted(), _calls[0])[1] > 1",
    "requests_that_follow": "bool(_frame('requests'))",
    "imported_anew": "bool((_frame('message') or {}).get('anew'))",
    "time_of_the_process": "_time.process_time() > 0.05",
}


def guessing_twice(files: Mapping[str, str], piece: str, other: Mapping[str, str], signal: str) -> dict[str, str]:
    """A submission that answers as another one where it sees a signal."""
    path = ASSIGNMENT.rubric.file_of(piece)
    return answering_otherwise({**files, path: files[path] + COUNTERS}, piece, other, SIGNALS[signal])
