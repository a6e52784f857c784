"""`grader verify`: wrong verdicts are told, margins are right, and the page comes out the same."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.core.assignment import Assignment
from grader.core.intake.submission import Submission
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.sandbox.limits import LAYERS
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab import verify
from grader.lab.verify import JudgeDied, Round, attacks, both_ways, judged, rounds, variants
from grader.lab.verify.attacks import Attempt
from grader.lab.verify.both_ways import Comparison
from grader.lab.verify.page import largest_share, page, smallest_excess, summary
from grader.lab.verify.variants import Verdict
from grader.selftest.term import command, run
from grader.specimens.variants import Variant

Judge = Callable[..., list[CaseResult]]
KNOWN = [*variants.known(ASSIGNMENT).values()][2:]  # without the two fixed ends
WRONG = next(variant for variant in KNOWN if not variant.valid and len(variant.breaks) == 1)
VALID = next(variant for variant in KNOWN if variant.valid)
(BROKEN,) = WRONG.breaks
OTHER = "swiglu_weights"
ATTACK = "verdicts.exits_with_zero"


def case(outcome: Outcome, error: float | None = None, prop: str = BROKEN, name: str = "law-cpu-float32") -> CaseResult:
    """One case of a property, with a limit of four."""
    return CaseResult(prop, name, outcome, error_ulp=error, limit_ulp=None if error is None else 4.0)


@pytest.mark.parametrize(
    ("variant", "cases", "problem"),
    [
        (WRONG, [case(Outcome.PASSED, 3.0)], f"keeps {BROKEN}"),
        (WRONG, [case(Outcome.FAILED, 9.0), case(Outcome.FAILED, prop=OTHER)], f"loses {OTHER}"),
        (WRONG, [case(Outcome.GRADER_ERROR)], "the grader failed in law-cpu-float32"),
        (VALID, [case(Outcome.FAILED, 9.0)], f"loses {BROKEN}"),
    ],
    ids=["kept", "lost elsewhere", "a failure of ours", "lost by a valid one"],
)
def test_a_wrong_verdict_is_told(variant: Variant, cases: list[CaseResult], problem: str) -> None:
    of_property = {name: [*found] for name, found in groupby(cases, lambda one: one.property_id)}
    assert variants.verdict(variant, of_property, 0).problem == problem


def test_the_margin_of_wrong_work_is_that_of_its_clearest_failure() -> None:
    cases = [case(Outcome.PASSED, 1.0), case(Outcome.FAILED, 8.0), case(Outcome.FAILED, 40.0, name="law-cpu-float16")]
    result = variants.verdict(WRONG, {BROKEN: cases}, 0)
    assert (result.margin, result.dtypes, result.lost) == (10.0, ("float32", "float16"), frozenset({BROKEN}))


def test_the_margin_of_right_work_is_that_of_its_closest_pass() -> None:
    result = variants.verdict(VALID, {BROKEN: [case(Outcome.PASSED, 1.0), case(Outcome.PASSED, 3.0)]}, 0)
    assert (result.margin, result.problem) == (0.75, "")


def test_the_summary_names_who_came_closest_on_either_side() -> None:
    verdicts = [
        Verdict("clear", 0, False, frozenset({BROKEN}), 100.0),
        Verdict("narrow", 1, False, frozenset({BROKEN}), 2.0),
        Verdict("not by size", 0, False, frozenset({BROKEN})),
        Verdict("stubs", 0, False, frozenset({BROKEN}), 0.5),
        Verdict("reference", 0, True, frozenset(), 0.25),
        Verdict("bold", 0, True, frozenset(), 0.75),
    ]
    assert (smallest_excess(verdicts), largest_share(verdicts)) == (verdicts[1], verdicts[5])
    assert "2 times its limit (narrow). Correct variants, closest to failing: 0.75" in summary(verdicts)[1]


def test_passed_cases_say_how_close_they_came(judge: Judge) -> None:
    results = judge(ASSIGNMENT.solution(), "task2")
    assert all(result.error_ulp is not None and result.limit_ulp for result in results)
    assert any(result.error_ulp for result in results)


def test_an_attack_that_is_not_covered_is_listed_by_name() -> None:
    attempts = [Attempt(ATTACK, "process", True, "gets 100"), Attempt("system.forks_without_end", "process", False)]
    *_, line = summary([Verdict("reference", 0, True, frozenset()), *attempts])
    assert line == "1 attacks against process: 1 gain or damage anything. Not covered, 1: system.forks_without_end."


def test_the_page_shows_problems_where_they_are_and_is_the_same_every_time() -> None:
    verdicts = [
        Verdict(WRONG.name, 0, False, frozenset({BROKEN}), float("inf"), ("float16",)),
        Verdict(WRONG.name, 1, False, frozenset(), problem=f"keeps {BROKEN}"),
        Verdict("reference", 0, True, frozenset(), 0.5),
    ]
    attempts = [Attempt(ATTACK, "namespaces+seccomp", True), Attempt(ATTACK, "process", True, "gets | 100")]
    text = page(ASSIGNMENT, [*verdicts, *attempts])
    charge = f"{BROKEN} **keeps {BROKEN} (seed 1)** | {WRONG.hint}"
    assert f"| {WRONG.name} | {WRONG.description} | {charge} | float16 | not finite |" in text
    assert "| reference | 0.5 |" in text
    assert "| fails | **gets \\| 100** |" in text
    assert page(ASSIGNMENT, [*verdicts, *attempts]) == text


def test_the_whole_has_every_variant_for_every_seed_and_every_attack_with_and_without_layers() -> None:
    of_variants, guarded, bare, *_ = rounds(ASSIGNMENT, range(2))
    assert {item[1:] for item in of_variants.items if item[1] == "stubs"} == {("stubs", 0), ("stubs", 1)}
    assert len(of_variants.items) == 2 * (2 + len(KNOWN))
    assert [name for _, name, _ in guarded.items] == [name for _, name, _ in bare.items] == [*attacks.known(ASSIGNMENT)]
    assert ({item[2] for item in guarded.items}, {item[2] for item in bare.items}) == ({()}, {LAYERS})


@pytest.mark.process
def test_a_judge_that_is_killed_is_told() -> None:
    with pytest.raises(JudgeDied, match="a judge died in the round 'deadly', at 7 or soon after"):
        list(judged(Round("deadly", os._exit, [(7,)]), jobs=1))


@pytest.mark.process
@pytest.mark.covered
def test_reports_ahead_and_plainly_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal reports are no problem; a property that passes in only one of the two is named."""
    assert both_ways.judge(ASSIGNMENT, WRONG.name, 0) == Comparison(WRONG.name, 0)
    own = attacks.grader_for
    plainly = own(ASSIGNMENT, seed=0, limits=attacks.LIMITS, plain=True)
    passing = plainly.grade(Submission("reference", ASSIGNMENT.solution()))

    def grader_for(of: Assignment, **key: Any) -> object:
        return own(of, **key) if key["plain"] else SimpleNamespace(grade=lambda _: passing)

    monkeypatch.setattr(attacks, "grader_for", grader_for)
    problem = both_ways.judge(ASSIGNMENT, WRONG.name, 0).problem
    assert f"{BROKEN}: " in problem
    (line,) = [line for line in summary([Comparison(WRONG.name, 0, problem)]) if "--plain" in line]
    assert line.endswith(f"1 of 1 pairs of reports differ, {WRONG.name}.")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof of a few seconds."""
    few = [(ASSIGNMENT, name, 0) for name in ("reference", "stubs", WRONG.name, VALID.name)]
    rounds = [Round("variants", variants.judge, few), Round("attacks", attacks.judge, [(ASSIGNMENT, ATTACK, ())])]
    monkeypatch.setattr(verify, "rounds", lambda *_: rounds)


@pytest.mark.process
@pytest.mark.usefixtures("small")
def test_the_command_proves_counts_and_writes(tmp_path: Path) -> None:
    result = run("verify", "--out", tmp_path / "page.md", "--jobs", 1)
    assert "4 verdicts on 1 wrong variants, 1 valid ones, the reference and untouched stubs" in result.stdout
    assert "1 attacks against " in result.stdout
    row = rf"\| {WRONG.name} \| {re.escape(WRONG.description)} \| {BROKEN}[^|*]* \| {WRONG.hint} \|"
    assert re.search(row, (tmp_path / "page.md").read_text())


def test_the_command_ends_with_3_where_a_verdict_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Verdict(WRONG.name, 0, False, frozenset(), problem=f"keeps {BROKEN}")
    monkeypatch.setattr(verify, "rounds", lambda *_: [Round("variants", variants.judge, [(ASSIGNMENT, WRONG.name, 0)])])
    monkeypatch.setattr(verify, "judged", lambda *_: iter([wrong, replace(wrong, seed=1)]))
    result = command("verify", "--out", tmp_path / "page.md")
    assert result.exit_code == 3
    assert f"✗ {WRONG.name}, seed 1: keeps {BROKEN}\n" in result.stdout
