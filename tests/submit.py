"""``python -m tests.submit``, behind ``make submit``: look over ``src/`` and pack it for handing in."""

import sys

from .harness.commands import exit_status
from .harness.submit import main

sys.exit(exit_status(main))
