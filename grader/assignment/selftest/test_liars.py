"""No submission earns more by lying than its honest twin; ``GRADER_LONG=1`` tries all of them (half an hour)."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.assignment.selftest.liars import SIGNALS, guessing_twice, judged, liar, task_of
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.core.settings import Settings
from grader.selftest import LONG
from grader.selftest.submissions import submission
from grader.specimens.variants import Variant

WRONG = [variant for variant in all_variants() if not variant.valid and ".devices" not in variant.name]
GAINED_ONCE = ("wrong.rotary.rotates_the_other_way", "wrong.rotary.pairs_from_both_ends")  # a point, by a new excuse
ALL = [(variant, seed) for seed in (0, 1) for variant in WRONG]
CASES = ALL if LONG else [*ALL[::156], *(case for case in ALL if case[0].name in GAINED_ONCE)]
PAIRS = 320 if LONG else 1  # of a mistake, another one and a signal
MADE = ("init", "seed", "registration", "buffers")  # parts of the ids of properties about what is constructed
GUESSES = [variant for variant in WRONG if not any(part in prop for prop in variant.breaks for part in MADE)]


def another(variant: Variant, among: Sequence[Variant], key: object) -> Variant:
    """Another mistake in the same piece."""
    others = [other for other in among if other.piece == variant.piece and other is not variant]
    return random.Random(f"{variant.name} {key}").choice(others)


@pytest.mark.parametrize("answers", ["right", "another_mistake"])
@pytest.mark.parametrize(("variant", "seed"), CASES, ids=lambda value: getattr(value, "name", value))
def test_who_answers_every_second_look_in_another_way_gains_nothing(variant: Variant, seed: int, answers: str) -> None:
    task = task_of(variant.piece)
    other = ASSIGNMENT.solution() if answers == "right" else another(variant, WRONG, seed).files
    honest = judged(variant.files, task, seed)
    lying = judged(liar(variant.files, variant.piece, other, seed), task, seed)
    assert lying.points <= honest.points, f"{sorted(honest.lost)} became {sorted(lying.lost)}"


Judges = Callable[[str, bool], Judge]


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    """``judges(task, plain)``."""
    with contextlib.ExitStack() as open_ones:

        @cache
        def judge(task: str, plain: bool) -> Judge:
            settings = Settings(ASSIGNMENT, device="cpu", only=task, plain=plain)
            return open_ones.enter_context(contextlib.closing(Judge(settings)))

        yield judge


def points(report: Report) -> float:
    """Of the only task."""
    return sum(task.score for task in report.tasks)


@pytest.mark.process
@pytest.mark.parametrize("number", range(PAIRS))
def test_who_guesses_twice_earns_no_more_than_the_better_guess(judges: Judges, number: int) -> None:
    """Both guesses are about what calls give; construction is the first one's."""
    choice = random.Random(f"pair {number}")
    first = choice.choice(GUESSES)
    second, signal = another(first, GUESSES, number), choice.choice(list(SIGNALS))
    task = task_of(first.piece)
    honest = max(points(judges(task, False).grade(submission(dict(each.files)))) for each in (first, second))
    both = submission(guessing_twice(first.files, first.piece, second.files, signal))
    for plain in (False, True):
        assert points(judges(task, plain).grade(both)) <= honest, f"{first.name}, {second.name}, {signal}"
