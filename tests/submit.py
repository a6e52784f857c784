"""``python -m tests.submit``, behind ``make submit``: check ``src/`` and pack it for submission."""

import sys

from .harness.commands import exit_status
from .harness.submit import main

sys.exit(exit_status(main))
