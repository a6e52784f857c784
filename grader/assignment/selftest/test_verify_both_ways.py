"""`grader verify` grades everything with and without --plain, and tells every difference."""

from __future__ import annotations

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.lab.verify import Comparison, attacks, both_ways, summary, variants

pytestmark = pytest.mark.process

WRONG = next(variant for variant in variants.known(ASSIGNMENT).values() if len(variant.breaks) == 1)
(BROKEN,) = WRONG.breaks


def test_everything_is_graded_ahead_and_plainly() -> None:
    items = {(name, seed) for _, name, seed in both_ways.items(ASSIGNMENT, range(2))}
    for seed in (0, 1):
        names = {name for name, own in items if own == seed}
        assert names >= {variants.REFERENCE, variants.STUBS, "ada", "bo", *variants.known(ASSIGNMENT)}
    assert items >= {(name, 0) for name in attacks.known(ASSIGNMENT)}


def test_the_same_reports_ahead_and_plainly_are_no_problem() -> None:
    assert both_ways.judge(ASSIGNMENT, WRONG.name, 0) == Comparison(WRONG.name, 0)


def test_a_pass_that_only_one_of_the_two_ways_gives_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    own = both_ways._judge
    passing = own(ASSIGNMENT, 0, False).grade(Submission("reference", ASSIGNMENT.solution()))

    class Mistaken:
        def grade(self, submission: Submission) -> Report:
            assert submission.id == WRONG.name
            return passing

    monkeypatch.setattr(both_ways, "_judge", lambda *key: own(*key) if key[-1] else Mistaken())
    problem = both_ways.judge(ASSIGNMENT, WRONG.name, 0).problem
    assert f"{BROKEN}: " in problem
    (line,) = [line for line in summary([Comparison(WRONG.name, 0, problem)]) if "--plain" in line]
    assert line.endswith(f"1 of 1 pairs of reports differ, {WRONG.name}.")
