"""The practice of this assignment, "break this implementation": what students' tests are judged with, and never see.

The function is that of ``tests/practice``, for which no task asks: what it says about masks answers nothing.
"""

from pathlib import Path

from grader.specimens.practice import read

PRACTICE = read(Path(__file__).parent)
