"""``python -m tests.demo``, behind ``make demo``: your layers run a small language model."""

import sys

from ..harness.terminal import exit_status
from .model import load
from .parts import Demo
from .show import parser, show

sys.exit(exit_status(lambda: show(parser("tests.demo"), lambda _, language: Demo(load(), language))))
