"""``python -m tests.demo``, behind ``make demo``: your layers run a small language model."""

import sys

from ..harness.commands import exit_status
from .run import main

sys.exit(exit_status(main))
