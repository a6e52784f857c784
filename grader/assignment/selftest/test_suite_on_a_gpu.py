"""With a GPU every test runs there, too: the simulated device in its place shows what can go wrong without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge import hidden_tests
from grader.core.judge.devices import devices
from grader.core.judge.elsewhere import Elsewhere
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.student import Student
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.lab import charges
from grader.specimens.variants import Variant

RUBRIC = ASSIGNMENT.rubric
WRONG = [variant for variant in all_variants() if ".devices." in variant.name and not variant.valid]


@pytest.fixture(autouse=True)
def everything_runs_there(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run every test on the simulated device, as on a GPU."""

    def whole_suite(chosen: tuple[str, ...]) -> list[object]:
        return ["cpu", *(pytest.param(device, id="simulated") for device in chosen[1:])]

    monkeypatch.setattr(hidden_tests, "whole_suite", whole_suite)
    charges.hidden_tests.cache_clear()
    yield
    charges.hidden_tests.cache_clear()


def test_the_reference_passes_every_case_there() -> None:
    tests = HiddenTests(ASSIGNMENT, devices("auto"), 0, RUBRIC.properties)
    results = tests.run(Student(ASSIGNMENT.solution(), InProcessWorker, RUBRIC, Limits(submission_s=1e6)))
    assert len(results) > 1.8 * sum("cpu" in result.id for result in results)
    assert [(result.id, result.detail) for result in results if result.outcome is not Outcome.PASSED] == []


@pytest.mark.slow
@pytest.mark.parametrize("variant", WRONG[::6], ids=lambda variant: variant.name)
def test_a_mistake_with_devices_costs_no_more_than_without_a_gpu(variant: Variant) -> None:
    charge = charges.charge("variants", variant)
    assert charge.exact, charges.line(charge)


def results_of(*outcomes: tuple[str, str, Outcome]) -> list[CaseResult]:
    return [CaseResult(*outcome) for outcome in outcomes]


@pytest.mark.parametrize("on_the_cpu", [Outcome.PASSED, Outcome.FAILED])
@pytest.mark.parametrize("about_devices", [Outcome.PASSED, Outcome.FAILED])
def test_only_what_fails_on_a_gpu_alone_is_excused_and_only_if_a_case_about_devices_charges(
    on_the_cpu: Outcome, about_devices: Outcome
) -> None:
    results = results_of(
        ("norm_groups", "several-cpu-float32", on_the_cpu),
        ("norm_groups", "several-cuda:0-float32", Outcome.FAILED),
        ("norm_mixed_devices", "may_differ-cuda:0", about_devices),
        ("vocab_lookup", "rows-cpu", Outcome.PASSED),
        ("vocab_lookup", "rows-cuda:0", Outcome.FAILED),
    )
    settled = list(map(Elsewhere(results, lambda prop: RUBRIC.task_of(prop).id).charged_once, results))
    is_excused = on_the_cpu is Outcome.PASSED and about_devices is Outcome.FAILED
    assert settled[1].outcome is (Outcome.PASSED if is_excused else Outcome.FAILED)
    assert [excused for excused in settled if excused.excuses] == [settled[1]] * is_excused
    assert settled[4].outcome is Outcome.FAILED, "another task has nothing to do with it"
