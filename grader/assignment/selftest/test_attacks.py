"""Hostile submissions end with the points that their honest part deserves; nothing leaks, lingers or spreads.

Each goes through the real path: intake where it is about files, workers, the hidden tests, the report. Here one of each
kind; ``grader verify`` tries them all, and ``GRADER_LONG=1`` does so in pytest.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.core.sandbox.limits import LAYERS, Isolation
from grader.core.settings import Settings
from grader.lab.verify import attacks
from grader.lab.verify.attacks import LIMITS, covers, exposed, misjudged, problems
from grader.selftest import LONG, some
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import submission
from grader.specimens.attacks import Attack

pytestmark = [pytest.mark.process, pytest.mark.covered]

ALL = [*attacks.known(ASSIGNMENT).values()]
ON_DEVICES = [attack for attack in ALL if attack.name.startswith("devices.")]
ATTACKS = [attack for attack in ALL if attack not in ON_DEVICES]
ONE_OF_EACH_KIND = (  # such as take a second, where others take ten
    *("answers.knows_the_public_cases", "archives.file_with_nul_bytes", "bombs.lzma_dictionary_bomb"),
    *("exceptions.message_that_raises", "judges.frames_that_are_tensors"),
    *("liars.refuses_the_dtypes_that_it_gets_wrong", "patching.borrows_the_grader", "resources.fills_the_output"),
    *("state.poisons_the_defaults", "system.kills_everybody", "values.not_a_number", "verdicts.exits_with_zero"),
)


def name(attack: Attack) -> str:
    return attack.name


@pytest.fixture(scope="module")
def guarded(judges: Judges) -> Judge:
    """All layers that this machine offers."""
    return judges(Settings(ASSIGNMENT, device="cpu", limits=LIMITS))


@pytest.fixture(scope="module")
def bare(judges: Judges) -> Judge:
    """A process of its own for the student, and nothing else."""
    return judges(Settings(ASSIGNMENT, device="cpu", limits=LIMITS, without=LAYERS))


@pytest.fixture(scope="module")
def on_two_devices(judges: Judges) -> Judge:
    """All layers, and the second device."""
    return judges(Settings(ASSIGNMENT, device="auto", limits=LIMITS))


@pytest.fixture(scope="module")
def honest(guarded: Judge) -> Report:
    return guarded.grade(submission(ASSIGNMENT.solution()))


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if LONG or attack.name in ONE_OF_EACH_KIND], ids=name)
def test_an_attack_gains_nothing(attack: Attack, guarded: Judge, tmp_path: Path) -> None:
    if not covers(guarded.isolation, attack):
        pytest.skip(f"needs {attack.needs}, which does not hold here")
    assert list(problems(ASSIGNMENT, attack, guarded, tmp_path)) == []


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if not attack.needs][:: 1 if LONG else 96], ids=name)
def test_a_process_of_its_own_is_enough_for_most(attack: Attack, bare: Judge, tmp_path: Path) -> None:
    assert list(problems(ASSIGNMENT, attack, bare, tmp_path)) == []


@pytest.mark.parametrize("attack", some(ON_DEVICES, 3), ids=name)
def test_a_broken_device_costs_what_is_asked_there(on_two_devices: Judge, attack: Attack, tmp_path: Path) -> None:
    assert on_two_devices.give_up("nobody", "").environment.devices != ["cpu"]
    assert list(problems(ASSIGNMENT, attack, on_two_devices, tmp_path)) == []


def test_attacks_have_names_of_their_own_and_a_line_that_says_what_they_try() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60
    kinds = [name.partition(".")[0] for name in ONE_OF_EACH_KIND]
    assert kinds == sorted({attack.name.partition(".")[0] for attack in ATTACKS})
    for attack in ATTACKS:
        assert attack.description.endswith("."), attack.name
        assert attack.needs in ("", *LAYERS), attack.name


# ── What is looked for is found ─────────────────────────────────────────────────────────────────────────────────────


def test_a_submission_that_could_not_be_read_is_told(honest: Report) -> None:
    assert list(misjudged(honest, None, None)) == ["is graded, not unreadable: None"]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("\x1b[2J", "shows control characters: '\\x1b[2J'"),
        ("x = 0.12345", "shows a number of the input: 'x = 0.12345'"),
        ("def test_secret", "shows a hidden test"),
        ("." * 300_000, "has a report of "),
    ],
    ids=["escape", "echo", "source", "flood"],
)
def test_what_nobody_should_read_in_a_report_is_told(honest: Report, message: str, problem: str) -> None:
    (found,) = exposed(honest.model_copy(update={"reason": message}))
    assert found.startswith(problem)


def test_an_attack_that_breaks_the_grader_is_told_and_the_next_one_gets_a_new_grader(
    guarded: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile:
        isolation = guarded.isolation
        closed = 0

        def grade(self, submission: Submission) -> None:
            raise RuntimeError(f"the fork server has died of {submission.id}")

        def close(self) -> None:
            Fragile.closed += 1

    monkeypatch.setattr(attacks, "Judge", lambda _: Fragile())
    try:
        for times in (1, 2):
            attempt = attacks.judge(ASSIGNMENT, ATTACKS[0].name, ())
            assert attempt.problem == "makes the grader fail: RuntimeError('the fork server has died of attack')"
            assert Fragile.closed == times
    finally:
        attacks.grader_for.cache_clear()


def test_points_that_were_not_earned_and_processes_left_behind_are_told(guarded: Judge, tmp_path: Path) -> None:
    left: list[subprocess.Popen[bytes]] = []

    def build(folder: Path) -> Submission:
        left.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], cwd=folder))
        return ATTACKS[0].build(folder)

    attack = replace(ATTACKS[0], score=100.0, bonus=50.0, build=build)
    try:
        processes, points = problems(ASSIGNMENT, attack, guarded, tmp_path)
    finally:
        left[0].kill()
        left[0].wait()
    assert processes == "left 1 processes behind"
    assert points.startswith("gets 65.0 and 50.0, not 100.0 and 50.0; without points: norm_groups failed")


@pytest.mark.parametrize(
    ("held", "needs", "covered"),
    [
        ((), "", True),
        ((), "seccomp", False),
        (("landlock",), "landlock", True),
        (("namespaces",), "landlock", False),
        (("seccomp",), "landlock", True),
        (("landlock",), "seccomp", False),
    ],
)
def test_an_attack_is_covered_where_its_layer_holds(held: tuple[str, ...], needs: str, covered: bool) -> None:
    attack = replace(ATTACKS[0], needs=needs)
    assert covers(Isolation(frozenset(held), {}), attack) is covered


def test_a_verdict_that_depends_on_the_text_is_not_remembered_for_equal_replies(on_two_devices: Judge) -> None:
    """The second of these submissions may differ from a GPU, so it is not assessed; that excuses no other."""
    files, path = ASSIGNMENT.solution(), "src/modeling/norm.py"
    norm = files[path].replace("self.gamma.to(input.device)", "self.gamma")
    texts = ("pass", "def on_cuda(x):\n    return x.is_cuda", "pass  # again")
    of_helper = [{**files, path: f"from . import helper\n{norm}", "src/modeling/helper.py": text} for text in texts]
    scores = [on_two_devices.grade(Submission(str(number), each)).score for number, each in enumerate(of_helper)]
    assert scores == [99.0, 100.0, 99.0]
