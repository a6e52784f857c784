"""The code shared with ``make practice``, loaded by path: an installed grader has no package ``tests``."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from grader import REPOSITORY

FILE = REPOSITORY / "tests" / "harness" / "trial.py"


if TYPE_CHECKING:
    from tests.harness import trial
else:
    _spec = importlib.util.spec_from_file_location(f"{__name__}.trial", FILE)
    trial = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(trial)

TRIAL = FILE.read_text(encoding="utf-8")
MOST_TESTS = trial.MOST_TESTS
Runs = trial.Runs
