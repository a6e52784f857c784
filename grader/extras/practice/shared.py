"""What `make practice` and the grader share, found by its path: an installed grader has no package `tests`."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from grader import REPOSITORY

FOLDER = REPOSITORY / "tests" / "harness" / "trials"


def _imported(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", FOLDER / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{FOLDER / name}.py cannot be imported")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TRIAL = (FOLDER / "trial.py").read_text(encoding="utf-8")
MOST_TESTS: int = _imported("trial").MOST_TESTS
if TYPE_CHECKING:
    from tests.harness.trials.verdict import Runs as Runs
else:
    Runs = _imported("verdict").Runs
