"""What commands and judges of this assignment import before they do anything, which somebody waits for."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

READY = """
import sys
from grader.assignment import ASSIGNMENT
from grader.core.judge.judge import Judge
from grader.core.settings import Settings
judge = Judge(Settings(ASSIGNMENT, device="cpu"))
print("sympy" in sys.modules)
judge.close()
"""


def test_a_judge_is_ready_without_what_torch_imports_for_symbols() -> None:
    """As ``backward(gradient)`` makes it do: five hundred modules, and a third of the time of torch itself."""
    ready = subprocess.run([sys.executable, "-W", "ignore", "-c", READY], capture_output=True, text=True, check=True)
    assert ready.stdout == "False\n"


def test_a_command_that_judges_nothing_does_not_import_torch() -> None:
    """It takes two seconds; so neither the commands nor the assignment and its corpus may need it at their start."""
    code = "import sys, grader.__main__, grader.assignment.corpus.students; print('torch' in sys.modules)"
    started = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert started.stdout == "False\n"
