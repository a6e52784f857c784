"""What a judge of this assignment needs before its first submission, which somebody waits for."""

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
judge = Judge(Settings(ASSIGNMENT))
print("sympy" in sys.modules)
judge.close()
"""


def test_a_judge_is_ready_without_what_torch_imports_for_symbols() -> None:
    """As ``backward(gradient)`` makes it do: five hundred modules, and a third of the time of torch itself."""
    ready = subprocess.run([sys.executable, "-W", "ignore", "-c", READY], capture_output=True, text=True, check=True)
    assert ready.stdout == "False\n"
