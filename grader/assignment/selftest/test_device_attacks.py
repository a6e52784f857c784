"""A submission may break the second device in its own worker; the judge, and the next submission, notice nothing.

Here a third of the attacks; ``grader verify`` tries them all, and ``GRADER_LONG=1`` does so in pytest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.attacks import all_attacks
from grader.core.judge.judge import Judge
from grader.core.settings import Settings
from grader.lab.verify.attacks import LIMITS, problems
from grader.selftest import some
from grader.specimens.attacks import Attack

pytestmark = pytest.mark.process

ATTACKS = [attack for attack in all_attacks() if attack.name.startswith("devices.")]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Judge]:
    """All layers that this machine offers, and the second device."""
    grader = Judge(Settings(ASSIGNMENT, device="auto", limits=LIMITS))
    yield grader
    grader.close()


@pytest.mark.parametrize("attack", some(ATTACKS, 3), ids=lambda attack: attack.name)
def test_a_broken_device_costs_what_is_asked_there(guarded: Judge, attack: Attack, tmp_path: Path) -> None:
    assert guarded.environment.devices != ["cpu"]
    assert list(problems(ASSIGNMENT, attack, guarded, tmp_path)) == []
