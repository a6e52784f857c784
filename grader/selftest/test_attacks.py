"""Hostile submissions end with the points that their honest part deserves; nothing leaks, lingers or spreads.

Each goes through the real path: intake where it is about files, workers in the strongest isolation of this machine, the
hidden tests, the report. By default a fixed sample; ``GRADER_ALL_ATTACKS=1`` takes them all, each with a neighbour
after it, and not only now and then.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.benchmarks.measure import descendants
from grader.grading import Grader, reference_files
from grader.intake.submission import Submission
from grader.results.report import Report
from grader.sandbox.levels import LAYERS
from grader.sandbox.limits import Limits
from grader.selftest.attacks import Attack, all_attacks
from grader.settings import Settings

ATTACKS = all_attacks()
THOROUGH = os.environ.get("GRADER_ALL_ATTACKS") == "1"
NEIGHBOUR_EVERY = 1 if THOROUGH else 9
LIMITS = Limits(request_s=2, retry_s=0.5, submission_s=20)
MOST_S = 30.0  # the submission's own 20, and what judge and machine add
MOST_BYTES = 300_000  # of one report
NUMBER = re.compile(r"\d\.\d{3}")  # messages of ours round to three digits, so this is one that was echoed
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def name(attack: Attack) -> str:
    """What an attack is called in pytest's output."""
    return attack.name


def warm(*without: str) -> Iterator[Grader]:
    """A grader without some layers; warnings that students provoke are no errors of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grader = Grader(Settings(device="cpu", limits=LIMITS, without=without))
        yield grader
        grader.close()


@pytest.fixture(scope="module")
def guarded() -> Iterator[Grader]:
    """All layers that this machine offers."""
    yield from warm()


@pytest.fixture(scope="module")
def bare() -> Iterator[Grader]:
    """A process of its own for the student, and nothing else."""
    yield from warm(*LAYERS)


def attempt(attack: Attack, grader: Grader, folder: Path) -> None:
    """Grade one attack and look at all that it should have left alone."""
    running, started = descendants(os.getpid()), time.monotonic()
    report = grader.grade(attack.build(folder))
    assert time.monotonic() - started < MOST_S
    assert descendants(os.getpid()) == running
    check(report, attack)


def check(report: Report, attack: Attack) -> None:
    """Require the points that were earned, and a report that can be shown to anyone."""
    assert report.status == ("unreadable" if attack.score is None else "graded"), report.reason
    assert (report.score, report.bonus) == (attack.score, attack.bonus), lost(report)
    texts = [case.message for task in report.tasks for prop in task.properties for case in prop.cases]
    texts += [report.reason or "", *report.submission.notices, *(file.path for file in report.submission.files)]
    for text in texts:
        assert not UNSAFE.search(text), repr(text[:300])
        assert not NUMBER.search(text), text[:300]
        assert "def test_" not in text, text[:300]
    assert len(report.model_dump_json().encode()) < MOST_BYTES


def lost(report: Report) -> str:
    """The properties without points, for the message of a failure."""
    properties = [prop for task in report.tasks for prop in task.properties if prop.points < prop.max_points]
    return "; ".join(f"{prop.id}: {prop.outcome}" for prop in properties)


def check_neighbour(grader: Grader) -> None:
    """Require full marks for the reference."""
    report = grader.grade(Submission("neighbour", reference_files()))
    assert (report.status, report.score, report.bonus) == ("graded", 100.0, 50.0), lost(report)


@pytest.mark.parametrize("attack", ATTACKS if THOROUGH else ATTACKS[::9], ids=name)
def test_an_attack_gains_nothing(attack: Attack, guarded: Grader, tmp_path: Path) -> None:
    attempt(attack, guarded, tmp_path)
    if ATTACKS.index(attack) % NEIGHBOUR_EVERY == 0:
        check_neighbour(guarded)


@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if not attack.needs][:: 1 if THOROUGH else 48], ids=name
)
def test_a_process_of_its_own_is_enough_for_most(attack: Attack, bare: Grader, tmp_path: Path) -> None:
    attempt(attack, bare, tmp_path)


def test_neighbours_keep_full_marks_after_all_of_them(guarded: Grader, bare: Grader) -> None:
    check_neighbour(guarded)
    check_neighbour(bare)


def test_attacks_have_names_of_their_own_and_a_line_that_says_what_they_try() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60
    for attack in ATTACKS:
        assert attack.description.endswith("."), attack.name
        assert attack.needs in ("", *LAYERS), attack.name
