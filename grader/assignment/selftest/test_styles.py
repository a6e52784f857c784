"""Right submissions in many styles answer as the reference does, without the hidden tests, and keep all points.

By default one; ``GRADER_LONG=1`` takes them all, which compiles some of them and takes minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.probes import PROBES
from grader.assignment.corpus.styles import COMBINATIONS, PIECES, files, style
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.protocol import pack, unpack
from grader.lab.mutants.behaviour import Comparison
from grader.lab.verify import rounds, variants
from grader.selftest import LONG
from grader.specimens.styles import Style

QUICK = next(one for one in map(style, range(COMBINATIONS)) if not any("compiled" in text for text in one.options))
SAMPLE = [*map(style, range(COMBINATIONS))] if LONG else [QUICK]


@pytest.fixture(autouse=True)
def work_in_progress() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):
        yield


class Answering(InProcessWorker):
    """Answers lists of requests, as a worker in a process of its own does."""

    def post(self, requests: bytes, *, anew: bool) -> None:
        """Answer a list at once."""
        del anew  # there is one comparison to a worker
        self._answers = pack([self.request(operations, 1.0) for operations in unpack(requests)])

    def replies(self, timeout_s: float) -> bytes:
        """The answers."""
        del timeout_s
        return self._answers


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """What the reference answers, for mutants: neither hidden tests nor their oracle take part."""
    return Comparison(Answering, ASSIGNMENT.solution(), None)  # type: ignore[arg-type] # all that is used of a worker


@pytest.mark.slow
@pytest.mark.parametrize("one", SAMPLE, ids=lambda one: one.name)
def test_a_style_meets_the_contract_and_keeps_all_points(comparison: Comparison, one: Style) -> None:
    files = one.submission(ASSIGNMENT).files
    assert {name: how for name in PROBES if (how := comparison.difference(name, files))} == {}
    assert variants.judge_style(ASSIGNMENT, one.number, "this process").problem == ""


def test_all_combinations_differ_and_have_every_option() -> None:
    styles = [style(number) for number in range(COMBINATIONS)]
    assert len({tuple(sorted(one.files.items())) for one in styles}) == COMBINATIONS
    axes = {f"{piece} {axis}": options for piece, part in PIECES.items() for axis, options in part.axes.items()}
    known = {f"{axis}: {name}" for axis, options in {**axes, "files style": files.STYLES}.items() for name in options}
    assert {option for one in styles for option in one.options} == known


def test_a_seed_has_a_sample_of_its_own_and_a_flag_takes_every_one() -> None:
    first, second = (set(variants.style_numbers(ASSIGNMENT, [seed], every=False)) for seed in (0, 1))
    assert (len(first), len(second), first & second) == (variants.SAMPLE, variants.SAMPLE, set())
    last = rounds(ASSIGNMENT, [0], all_styles=True)[-1]
    assert {item[1:] for item in last.items} == {(n, way) for n in range(COMBINATIONS) for way in variants.WAYS}


@pytest.mark.process
def test_a_style_is_graded_in_a_worker() -> None:
    assert variants.judge_style(ASSIGNMENT, QUICK.number, "a process only").problem == ""


@pytest.mark.slow
def test_a_style_that_loses_points_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path: text.replace(b"group_size, eps\n", b"group_size, 2 * eps\n") for path, text in QUICK.files.items()}
    monkeypatch.setattr(ASSIGNMENT.part("corpus.styles"), "style", lambda _: replace(QUICK, files=files))
    verdict = variants.judge_style(ASSIGNMENT, 0, "this process")
    assert "norm_eps_inside_sqrt" in verdict.lost
    assert "norm_eps_inside_sqrt failed, " in verdict.problem
